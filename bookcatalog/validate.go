package bookcatalog

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-playground/validator/v10"
)

// newValidator returns a validator of books by the tags of their fields. It is safe for concurrent
// use.
func newValidator() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(f reflect.StructField) string {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return name
	})
	// A line is empty or one line of visible text. An error is impossible: the name is valid and the
	// function not nil.
	_ = v.RegisterValidation("line", func(field validator.FieldLevel) bool {
		s := field.Field().String()
		return utf8.ValidString(s) && (s == "" || strings.TrimSpace(s) != "") && !strings.ContainsFunc(s, unicode.IsControl)
	})
	return v
}

// prepare returns a copy of a draft with its ISBN13, or an *Error of kind Invalid that names every
// invalid field.
func (c *Catalog) prepare(draft *Book) (*Book, error) {
	var fields []FieldError
	wrong, _ := errors.AsType[validator.ValidationErrors](c.validate.Struct(draft))
	for _, w := range wrong {
		_, field, _ := strings.Cut(w.Namespace(), ".")
		fields = append(fields, FieldError{field, reason(w)})
	}
	isbn13, err := ParseISBN(draft.ISBN)
	if err != nil && draft.ISBN != "" && !c.opts.LenientISBN {
		fields = append(fields, FieldError{"isbn", err.Error()})
	}
	if len(fields) > 0 {
		messages := make([]string, len(fields))
		for i, f := range fields {
			messages[i] = f.Field + " " + f.Reason
		}
		return nil, &Error{Kind: Invalid, Message: "Invalid book: " + strings.Join(messages, "; "), Fields: fields}
	}
	b := draft.Clone()
	b.ISBN13 = isbn13 // empty for an invalid ISBN
	return b, nil
}

// reason returns the requirement of a rule.
func reason(w validator.FieldError) string {
	order := map[string]string{"min": "at least", "max": "at most"}[w.Tag()]
	switch {
	case order == "":
		return map[string]string{
			"required":           "must not be empty",
			"required_with":      "must be given together with price_minor",
			"line":               "must be one line of text without control characters",
			"iso4217":            "must be a currency code such as EUR (ISO 4217)",
			"iso3166_1_alpha2":   "must be a country code such as GB (ISO 3166)",
			"bcp47_language_tag": "must be a language tag such as en or pt-BR (BCP 47)",
			"datetime":           "must be a date such as 1775-12-16",
		}[w.Tag()]
	case w.Kind() == reflect.String:
		return fmt.Sprintf("must have %s %s characters", order, w.Param())
	case w.Kind() == reflect.Slice:
		return fmt.Sprintf("must have %s %s elements", order, w.Param())
	}
	return fmt.Sprintf("must be %s %s", order, w.Param())
}
