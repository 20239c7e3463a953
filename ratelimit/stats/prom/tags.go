package prom

import (
	"fmt"
	"strings"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// tagLabels makes labels of tags. owns tells which names the mapping has for itself.
func tagLabels(tags []stats.Tag, owns func(string) bool) ([]label, error) {
	var labels []label
	from := make(map[string]string, len(tags))
	for i, tag := range tags {
		if tag.Name == "" {
			return nil, fmt.Errorf("prom: tag %d has no name: it must be <name>:<value>", i+1)
		}
		name := escape(tag.Name)
		switch {
		case owns(name), name == statisticLabel, name == "le", name == "quantile":
			name = "tag_" + name
		case strings.HasPrefix(name, "__"): // the scraping server keeps such names for itself
			name = "tag" + name
		}
		if other, taken := from[name]; taken {
			return nil, fmt.Errorf("prom: tags %q and %q would both be the label %s: rename one", other, tag.Name, name)
		}
		from[name] = tag.Name
		labels = append(labels, label{name, tag.Value})
	}
	return shown(labels), nil
}
