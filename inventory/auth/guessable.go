package auth

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/ccojocar/zxcvbn-go/data"
)

// ours lists about 200 frequently used passwords in lower case, one per line, with those of networks
// and of recent years.
//
//go:embed common.txt
var ours string

// common returns the frequently used passwords in lower case: ours, and the 7,000 most frequent ones
// of the estimator zxcvbn, which the module zxcvbn-go (MIT licence) contains and maintains. Of that
// module only the list is used: an estimate of strength has no rule that a message could name. The
// list is decoded when the first password is checked and takes 1 MB.
var common = sync.OnceValue(func() map[string]bool {
	var list struct{ List []string }
	text, err := data.Asset("data/Passwords.json")
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		panic(err) // unreachable: the list is part of the program
	}
	all := make(map[string]bool, len(list.List)+200)
	for _, password := range slices.Concat(list.List, strings.Fields(ours)) {
		all[strings.ToLower(password)] = true
	}
	return all
})

// products are the names of what the password is for.
var products = []string{"ashlar", "inventory", "inventoryd", "network inventory"}

// checkGuessable refuses what is tried first (REFERENCE.md, 3.3).
func checkGuessable(password string, about []string) error {
	first, rest := []rune(password)[0], []rune(password)[1:]
	repeated := !slices.ContainsFunc(rest, func(r rune) bool { return r != first })
	if repeated || strings.TrimSpace(password) == "" {
		return weak("Password must not be one character repeated or blanks: choose another, such as four words")
	}
	forms := formsOf(password)
	if slices.ContainsFunc(forms, func(form string) bool { return common()[form] }) {
		return weak("Password is one of the most common, or nearly: choose another, such as four words")
	}
	for _, word := range slices.Concat(products, about) {
		local, _, _ := strings.Cut(word, "@")
		for _, name := range []string{strings.ToLower(word), strings.ToLower(local), letters(word), letters(local)} {
			if name == "" || !slices.Contains(forms, name) {
				continue
			}
			if slices.Contains(products, word) {
				return weak("Password must not be the name of the product: choose another, such as four words")
			}
			return weak("Password must not be your user name or e-mail address, or your name: choose another, such as four words")
		}
	}
	return nil
}

// formsOf returns the words that a password may be made from: itself in lower case, without digits and
// punctuation after, with the letters that digits and symbols look like, and without everything
// else between the letters.
func formsOf(password string) []string {
	lower := strings.ToLower(password)
	forms := []string{lower, trimmed(lower)}
	for _, form := range forms[:2:2] {
		forms = append(forms, looksLike.one.Replace(form), looksLike.other.Replace(form))
	}
	for _, form := range forms[:len(forms):len(forms)] {
		forms = append(forms, letters(form), trimmed(form))
	}
	return forms
}

// looksLike replaces what looks like a letter; a 1 looks like two of them.
var looksLike = struct{ one, other *strings.Replacer }{
	strings.NewReplacer("@", "a", "4", "a", "8", "b", "3", "e", "6", "g", "1", "i", "!", "i", "0", "o", "$", "s", "5", "s", "7", "t", "+", "t", "2", "z"),
	strings.NewReplacer("@", "a", "4", "a", "8", "b", "3", "e", "9", "g", "1", "l", "|", "l", "0", "o", "$", "s", "5", "s", "7", "t", "+", "t"),
}

// trimmed returns a word without the digits and punctuation after it.
func trimmed(word string) string {
	return strings.TrimRightFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
}

// letters returns the letters and digits of a word in lower case.
func letters(word string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, word)
}
