package ui

import (
	"fmt"
	"html/template"
	"maps"
	"slices"
)

// icons are the paths of icons of 20 by 20 units, drawn as lines.
var icons = map[string]string{
	"mark":     `<path d="M2.5 7.5h8v-4h7v4M2.5 7.5v4.5h5v-4.5M7.5 12h10V7.5M2.5 12v4.5h9V12M11.5 16.5h6V12"/>`,
	"menu":     `<path d="M3 5h14M3 10h14M3 15h14"/>`,
	"search":   `<circle cx="8.5" cy="8.5" r="5.5"/><path d="m13 13 4.5 4.5"/>`,
	"theme":    `<circle cx="10" cy="10" r="7"/><path d="M10 3a7 7 0 0 1 0 14z" fill="currentColor"/>`,
	"user":     `<circle cx="10" cy="7" r="3.5"/><path d="M3.5 17c.5-3.5 3-5 6.5-5s6 1.5 6.5 5"/>`,
	"close":    `<path d="m5 5 10 10M15 5 5 15"/>`,
	"check":    `<path d="m4 10.5 4 4 8-9"/>`,
	"warn":     `<path d="M10 3 18 17H2zM10 8v4M10 14.5v.5"/>`,
	"edit":     `<path d="m4 16 .8-3.600L13 4.200l2.800 2.800-8.200 8.200zM11.5 5.700l2.800 2.800"/>`,
	"copy":     `<rect x="7" y="7" width="9" height="9" rx="1.5"/><path d="M13 7V5.5A1.5 1.5 0 0 0 11.5 4h-6A1.5 1.5 0 0 0 4 5.5v6A1.5 1.5 0 0 0 5.5 13H7"/>`,
	"up":       `<path d="m5 12 5-5 5 5"/>`,
	"down":     `<path d="m5 8 5 5 5-5"/>`,
	"left":     `<path d="m12 5-5 5 5 5"/>`,
	"right":    `<path d="m8 5 5 5-5 5"/>`,
	"plus":     `<path d="M10 4v12M4 10h12"/>`,
	"trash":    `<path d="M4 6h12M8 6V4h4v2M6 6l.7 10h6.600L14 6M8.5 9v4.5M11.5 9v4.5"/>`,
	"download": `<path d="M10 3v9m-4-3.5 4 4 4-4M4 16h12"/>`,
	"upload":   `<path d="M10 13V4M6 7.5l4-4 4 4M4 16h12"/>`,
	"home":     `<path d="m3 10 7-6.5 7 6.5M5 8.5V16h10V8.5M8.5 16v-4.5h3V16"/>`,
	"device":   `<rect x="2.5" y="5" width="15" height="4" rx="1"/><rect x="2.5" y="11" width="15" height="4" rx="1"/><path d="M5 7h.5M5 13h.5M8 7h.5M8 13h.5"/>`,
	"port":     `<rect x="3.5" y="4" width="13" height="12" rx="1.5"/><path d="M7 16v-4h6v4M8 4v3M12 4v3"/>`,
	"place":    `<path d="M10 17.5c-3.5-4-5-6.5-5-9a5 5 0 0 1 10 0c0 2.5-1.5 5-5 9z"/><circle cx="10" cy="8.5" r="1.800"/>`,
	"rack":     `<rect x="5" y="2.5" width="10" height="15" rx="1"/><path d="M7 6h6M7 9h6M7 12h6M7 15h6"/>`,
	"network":  `<circle cx="10" cy="4.5" r="2"/><circle cx="4.5" cy="15" r="2"/><circle cx="15.5" cy="15" r="2"/><path d="m9 6.300-3.600 7M11 6.300l3.600 7M6.5 15h7"/>`,
	"link":     `<path d="M8.5 11.5a3 3 0 0 0 4.300 0l3-3a3 3 0 0 0-4.300-4.300l-1 1M11.5 8.5a3 3 0 0 0-4.300 0l-3 3a3 3 0 0 0 4.300 4.300l1-1"/>`,
	"prefix":   `<rect x="3" y="3" width="14" height="14" rx="1.5"/><path d="M3 10h14M10 3v14M10 13.5h7M13.5 10v7"/>`,
	"event":    `<path d="M11 2.5 4.5 11.5H9.5L9 17.5l6.5-9H10.5z"/>`,
	"history":  `<path d="M3.5 10a6.5 6.5 0 1 1 2 4.700M3.5 10 2 8m1.5 2 2-1.5M10 6.5V10l2.5 2"/>`,
	"users":    `<circle cx="7" cy="7" r="2.800"/><path d="M2 16c.4-3 2.300-4.300 5-4.300s4.600 1.300 5 4.300"/><path d="M12.5 4.5a2.800 2.800 0 0 1 0 5M14 12c2.200.4 3.600 1.700 4 4"/>`,
	"chart":    `<path d="M3 17V3M3 17h14M6.5 14v-4M10 14V6.5M13.5 14V9"/>`,
	"limit":    `<path d="M3.5 14a7 7 0 1 1 13 0M10 12.5l3-4.5"/><circle cx="10" cy="12.800" r="1.300"/>`,
	"drift":    `<path d="M3 7h11m-3-3.5L14.5 7 11 10.5M17 13H6m3-3.5L5.5 13 9 16.5"/>`,
	"tag":      `<path d="M3 9.5V3.5h6l8 8-6 6z"/><circle cx="6.5" cy="7" r="1"/>`,
	"settings": `<circle cx="10" cy="10" r="2.5"/><path d="M10 2.5v2.5M10 15v2.5M2.5 10H5M15 10h2.5M4.700 4.700l1.800 1.800M13.5 13.5l1.800 1.800M4.700 15.300l1.800-1.800M13.5 6.5l1.800-1.800"/>`,
	"play":     `<path d="m6 4 10 6-10 6z"/>`,
	"empty":    `<path d="M3 12 5.5 5h9L17 12v4H3zM3 12h4l1 2h4l1-2h4"/>`,
	"book":     `<path d="M4 3.5h9.5A1.5 1.5 0 0 1 15 5v11.5H5.5A1.5 1.5 0 0 1 4 15zM4 15a1.5 1.5 0 0 1 1.5-1.5H15"/>`,
	"file":     `<path d="M5 2.5h6.5L15.5 6.5v11H5zM11.5 2.5v4h4M7.5 10.5h5.5M7.5 13.5h5.5"/>`,
	"dot":      `<circle cx="10" cy="10" r="2"/>`,
	"columns":  `<rect x="3" y="3.5" width="14" height="13" rx="1"/><path d="M8 3.5v13M12.5 3.5v13"/>`,
	"filter":   `<path d="M3 4.5h14l-5.5 6.5v5.5l-3-1.5v-4z"/>`,
	"logout":   `<path d="M11.5 4H4.5v12h7M8.5 10h9m-3-3 3 3-3 3"/>`,
}

// icon returns an icon for beside a text, invisible to screen readers.
func icon(name string) (template.HTML, error) {
	drawing, ok := icons[name]
	if !ok {
		return "", fmt.Errorf("unknown icon %q", name)
	}
	return template.HTML(`<svg class="icon" viewBox="0 0 20 20" aria-hidden="true">` + drawing + `</svg>`), nil // #nosec G203 -- constants
}

func iconNames() []string { return slices.Sorted(maps.Keys(icons)) }
