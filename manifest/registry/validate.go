package registry

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/manifest"
)

// maxIssues is the number of problems that a validation lists.
const maxIssues = 10_000

// issue is a problem, with the members that clients of the public registry read.
type issue struct {
	Type      string `json:"type"`      // json, schema, semantic or linter
	Path      string `json:"path"`      // such as packages[0].transport.url
	Reference string `json:"reference"` // the rule, by the name that the public registry has for it
	*manifest.Problem
}

// validate responds with all problems of a manifest, as publish would find them.
func (a *api) validate(w http.ResponseWriter, r *http.Request) error {
	body, err := readJSON(r)
	if err != nil {
		return err
	}
	opts := *a.opts.Validate
	opts.MaxProblems = max(opts.MaxProblems, maxIssues)
	report := manifest.Validate(body, &opts)
	categories := map[manifest.Rule]manifest.Category{}
	for _, rule := range manifest.Rules() {
		categories[rule.Rule] = rule.Category
	}
	issues := make([]issue, len(report.Problems))
	size := 0
	for i := range report.Problems {
		p := &report.Problems[i]
		kind := map[manifest.Category]string{
			manifest.CategorySyntax: "json", manifest.CategorySchema: "schema", manifest.CategoryAdvice: "linter",
		}[categories[p.Rule]]
		reference := map[manifest.Rule]string{"schema-required": "schema-field-required", "schema-deprecated": "schema-version-deprecated"}[p.Rule]
		issues[i] = issue{cmp.Or(kind, "semantic"), dotted(p.Pointer), cmp.Or(reference, string(p.Rule)), p}
		size += len(p.Pointer) + len(p.Message) + len(p.Suggestion)
	}
	if err := httpx.Reserve(r.Context(), int64(size)); err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, map[string]any{"valid": report.Valid(), "issues": issues, "omitted": report.Omitted()})
}

// dotted returns a pointer in the form of paths of the public registry.
func dotted(pointer string) string {
	var b strings.Builder
	for i, step := range strings.Split(pointer, "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		if _, err := strconv.ParseUint(step, 10, 32); err == nil {
			b.WriteString("[" + step + "]")
			continue
		}
		if i > 1 {
			b.WriteByte('.')
		}
		b.WriteString(step)
	}
	return b.String()
}

// login exchanges a token for itself, if it is known: publishers ask for one before they publish.
func (a *api) login(w http.ResponseWriter, r *http.Request) error {
	if method := r.PathValue("method"); method != "github-at" {
		return httpx.Errorf(http.StatusBadRequest, "This registry does not know the login %.100q: use mcp-publisher login github --token TOKEN", method)
	}
	body, err := readJSON(r)
	if err != nil {
		return err
	}
	var sent struct {
		Token string `json:"github_token"`
	}
	if json.Unmarshal(body, &sent) != nil || sent.Token == "" {
		return httpx.Errorf(http.StatusBadRequest, `The token is missing: send {"github_token": TOKEN}`)
	}
	r.Header.Set("Authorization", "Bearer "+sent.Token)
	if _, err := a.authenticate(r); err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, map[string]any{"registry_token": sent.Token, "expires_at": a.opts.Now().Add(loginTime).Unix()})
}

// loginTime is the time after which publishers should log in again. Tokens themselves do not expire.
const loginTime = 30 * 24 * time.Hour
