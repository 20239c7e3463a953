package console

import (
	"html/template"
	"time"

	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// functions are the functions of the console's templates.
var functions = template.FuncMap{
	"since": since, "fieldLabel": site.FieldLabel, "parameterWords": site.ParameterWords, "plural": site.Plural, "titleOf": site.Title, "resourceIcon": site.Icon,
}

// since shows a time of the API: how long ago it was, or the date if that is long.
func since(text string) string {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	if age := time.Since(t); age > 7*24*time.Hour || age < -7*24*time.Hour {
		return t.UTC().Format("2006-01-02 15:04")
	}
	return ui.Ago(t)
}
