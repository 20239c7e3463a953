package config_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	yamlv3 "gopkg.in/yaml.v3"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
)

// The model decodes into structs with the YAML library, which handles aliases, merge keys
// and scalar types but reports no positions.
type modelDomain struct {
	Domain      string
	Descriptors []modelRule
}

type modelRule struct {
	Key, Value     string
	RateLimit      *modelLimit `yaml:"rate_limit"`
	Descriptors    []modelRule
	ShadowMode     bool   `yaml:"shadow_mode"`
	QuotaMode      bool   `yaml:"quota_mode"`
	DetailedMetric bool   `yaml:"detailed_metric"`
	ValueToMetric  bool   `yaml:"value_to_metric"`
	ShareThreshold bool   `yaml:"share_threshold"`
	OnStoreFailure string `yaml:"on_store_failure"`
}

type modelLimit struct {
	RequestsPerUnit uint32 `yaml:"requests_per_unit"`
	Unit            string
	Unlimited       bool
	UnitMultiplier  uint32 `yaml:"unit_multiplier"`
	Align           string
	TimeZone        string `yaml:"time_zone"`
	Algorithm       string
	Burst           uint32
	LimitType       string `yaml:"limit_type"`
	Lease           bool
	Candidate       *struct {
		RequestsPerUnit *uint32 `yaml:"requests_per_unit"`
	}
	Name     string
	Replaces []struct{ Name string }
}

func (m modelRule) rule() ratelimit.Rule {
	r := ratelimit.Rule{
		Key: m.Key, Value: m.Value, ShadowMode: m.ShadowMode, QuotaMode: m.QuotaMode,
		DetailedMetric: m.DetailedMetric, ValueToMetric: m.ValueToMetric, ShareThreshold: m.ShareThreshold,
		OnStoreFailure: ratelimit.FailurePolicy(m.OnStoreFailure),
	}
	for _, d := range m.Descriptors {
		r.Rules = append(r.Rules, d.rule())
	}
	if l := m.RateLimit; l != nil {
		r.Limit = &ratelimit.Limit{RequestsPerUnit: l.RequestsPerUnit, Unlimited: l.Unlimited, Name: l.Name}
		r.Limit.Unit, _ = ratelimit.ParseUnit(l.Unit)
		r.Limit.UnitMultiplier, r.Limit.Align, r.Limit.TimeZone = l.UnitMultiplier, ratelimit.Align(l.Align), l.TimeZone
		r.Limit.Algorithm, _ = ratelimit.ParseAlgorithm(cmp.Or(l.Algorithm, "fixed_window"))
		if r.Limit.Burst = l.Burst; strings.EqualFold(l.LimitType, "concurrency") {
			r.Limit.Algorithm = ratelimit.Concurrency
		}
		r.Limit.Lease = l.Lease
		if c := l.Candidate; c != nil && c.RequestsPerUnit != nil {
			r.Limit.Candidate = &ratelimit.Candidate{RequestsPerUnit: *c.RequestsPerUnit}
		}
		for _, n := range l.Replaces {
			r.Limit.Replaces = append(r.Limit.Replaces, n.Name)
		}
	}
	return r
}

var modelKeys = strings.Fields(`domain descriptors key value rate_limit shadow_mode quota_mode detailed_metric
	value_to_metric share_threshold on_store_failure metadata unit requests_per_unit unlimited name replaces unit_multiplier align time_zone algorithm burst
	limit_type lease candidate`)

// modelCheck validates any value like the reference service.
func modelCheck(v any) error {
	switch v := v.(type) {
	case nil, string, int, bool:
		return nil
	case []any:
		for _, e := range v {
			switch e.(type) {
			case map[string]any, map[any]any:
			default:
				return errors.New("list of type other than map")
			}
			if err := modelCheck(e); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		for k, e := range v {
			if err := modelPair(k, e); err != nil {
				return err
			}
		}
		return nil
	case map[any]any:
		for k, e := range v {
			if err := modelPair(k, e); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("a %T", v)
}

func modelPair(k, v any) error {
	name, ok := k.(string)
	if !ok || !slices.Contains(modelKeys, name) {
		return fmt.Errorf("key %v", k)
	}
	if name == "metadata" {
		return nil
	}
	return modelCheck(v)
}

func model(data []byte) (d ratelimit.Domain, err error) {
	var v map[any]any
	if err := yamlv3.Unmarshal(data, &v); err != nil {
		return d, err
	}
	if err := modelCheck(v); err != nil {
		return d, err
	}
	var m modelDomain
	if err := yamlv3.Unmarshal(data, &m); err != nil {
		return d, err
	}
	d.Name = m.Domain
	for _, r := range m.Descriptors {
		d.Rules = append(d.Rules, r.rule())
	}
	return d, nil
}

// isFormatFault reports whether a fault is about the format, not about the rules.
func isFormatFault(f *config.Fault) bool {
	for _, start := range []string{"error loading config file", "config error", "error checking config"} {
		if strings.HasPrefix(f.Reason, start) {
			return true
		}
	}
	return false
}

// agree compares the results of Parse and the model.
func agree(t *testing.T, data []byte) {
	t.Helper()
	if bytes.Contains(data, []byte("metadata")) || moreThanOne(data) {
		return // where Parse is stricter
	}
	want, wantErr := model(data)
	if wantErr != nil && strings.Contains(wantErr.Error(), "already defined at line") {
		return // the YAML library refuses duplicate keys; Parse warns (REFERENCE.md, 7.1)
	}
	c, err := config.Parse([]config.File{{Name: "f", Data: data}}, nil)
	if err == nil {
		if assert.NoError(t, wantErr, "%q", data) {
			assert.Equal(t, want, c.Domains[0], "%q", data)
		}
		return
	}
	var faults config.Faults
	assert.ErrorAs(t, err, &faults)
	rejected := false
	for _, f := range faults {
		rejected = rejected || isFormatFault(f)
	}
	assert.Equal(t, wantErr != nil, rejected, "%q\nmodel: %v\nParse: %v", data, wantErr, err)
}

// moreThanOne reports whether there is a second document.
func moreThanOne(data []byte) bool {
	var n yamlv3.Node
	dec := yamlv3.NewDecoder(bytes.NewReader(data))
	return dec.Decode(&n) == nil && dec.Decode(&n) != io.EOF
}

func seeds() [][]byte {
	var all [][]byte
	for _, c := range rejections() {
		all = append(all, []byte(c.text))
	}
	all = append(all, []byte("domain: d\ndomain:"))
	paths, _ := filepath.Glob("testdata/golden/*/*.y*ml")
	for _, p := range paths {
		if data, err := os.ReadFile(p); err == nil {
			all = append(all, data)
		}
	}
	return all
}

func FuzzModel(f *testing.F) {
	for _, data := range seeds() {
		f.Add(data)
	}
	f.Fuzz(agree)
}
