package suggest_test

import (
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/internal/suggest"
)

func TestClosest(t *testing.T) {
	known := []string{"requests_per_unit", "unit", "unlimited", "name", "streamable-http", "größe"}
	for _, tt := range []struct {
		word  string
		edits int
		want  string
	}{
		{"unit", 0, "unit"},
		{"Unit", 0, "unit"},
		{"requestsPerUnit", 0, "requests_per_unit"},
		{"Streamable_HTTP", 0, "streamable-http"},
		{"unti", 1, "unit"}, // a swap is one edit
		{"uni", 1, "unit"},
		{"unitt", 1, "unit"},
		{"unlimeted", 1, "unlimited"},
		{"grösse", 2, "größe"},
		{"große", 1, "größe"}, // one rune, although two bytes differ
		{"nmae", 0, ""},
		{"entirely else", 3, ""},
		{"", 1, ""},
		{strings.Repeat("x", 101), 100, ""},
	} {
		if got := suggest.Closest(tt.word, known, tt.edits); got != tt.want {
			t.Errorf("Closest(%q, %d edits) = %q, want %q", tt.word, tt.edits, got, tt.want)
		}
	}
	if got := suggest.Closest("cat", []string{"bat", "hat", "cats"}, 1); got != "bat" {
		t.Errorf("the first of several equally close words wins, got %q", got)
	}
	if got := suggest.Closest("cat", []string{"bat", "Cat"}, 1); got != "Cat" {
		t.Errorf("the closest word wins, got %q", got)
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "abc", 0},
		{"abc", "acb", 1},
		{"kitten", "sitting", 3},
		{"ca", "abc", 3}, // a swapped pair is not edited again
	} {
		if got := suggest.Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
		if got := suggest.Distance(tt.b, tt.a); got != tt.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", tt.b, tt.a, got, tt.want)
		}
	}
}

func TestPath(t *testing.T) {
	known := []string{"/devices", "/devices/{id}", "/devices/{id}/trace", "/audit-logs", "/users/login"}
	for sent, want := range map[string]string{
		"/device":                           "/devices",
		"/devices/":                         "/devices",
		"/device/7":                         "/devices/7",
		"/devices/7/trce":                   "/devices/7/trace",
		"/api/devices":                      "/devices",
		"/api/v1/device/7":                  "/devices/7",
		"/v2.1/users/logn":                  "/users/login",
		"/audit_log":                        "/audit-logs",
		"/vlan":                             "",
		"/other/devices":                    "",
		"/devices/7/8/9":                    "",
		"/":                                 "",
		"/v":                                "",
		"/" + strings.Repeat("device/", 40): "",
	} {
		if got := suggest.Path(sent, known); got != want {
			t.Errorf("Path(%q) is %q, want %q", sent, got, want)
		}
	}
}
