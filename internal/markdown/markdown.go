// Package markdown reads the parts of Markdown pages that tests check: code blocks and links.
package markdown

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Page is a Markdown file, line by line.
type Page struct {
	Name  string // its path in the repository, with slashes
	Lines []string
}

// New returns a page with this content.
func New(name, content string) *Page {
	return &Page{Name: name, Lines: strings.Split(content, "\n")}
}

// Read reads a page.
func Read(tree fs.FS, name string) (*Page, error) {
	content, err := fs.ReadFile(tree, name)
	if err != nil {
		return nil, err
	}
	return New(name, string(content)), nil
}

// Content returns the text of the page.
func (p *Page) Content() string { return strings.Join(p.Lines, "\n") }

// Fault formats a message about a line, counted from 0.
func (p *Page) Fault(line int, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s", p.Name, line+1, fmt.Sprintf(format, args...))
}

// Block is a fenced code block.
type Block struct {
	Language string
	First    int // index of the first line after the fence
	Lines    []string
	Above    string // the line before the fence
}

// Text returns the lines of the block, each with a line break.
func (b *Block) Text() string { return strings.Join(append(slices.Clone(b.Lines), ""), "\n") }

// Blocks returns the fenced blocks. An unclosed block extends to the end, as in CommonMark.
func (p *Page) Blocks() []Block {
	var all []Block
	open := false
	for i, line := range p.Lines {
		language, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && open:
			open = false
		case fence:
			open = true
			all = append(all, Block{Language: language, First: i + 1, Above: p.Lines[max(i-1, 0)]})
		case open:
			b := &all[len(all)-1]
			b.Lines = append(b.Lines, line)
		}
	}
	return all
}

// BlocksOf returns the blocks in one of the languages.
func (p *Page) BlocksOf(languages ...string) []Block {
	return slices.DeleteFunc(p.Blocks(), func(b Block) bool { return !slices.Contains(languages, b.Language) })
}

// Prose returns the lines, those in blocks blank and without inline code.
func (p *Page) Prose() []string {
	lines := slices.Clone(p.Lines)
	for _, b := range p.Blocks() {
		clear(lines[b.First : b.First+len(b.Lines)])
	}
	code := regexp.MustCompile("`[^`]*`")
	for i := range lines {
		lines[i] = code.ReplaceAllString(lines[i], "")
	}
	return lines
}

// CheckLinks reports links to files and headings that do not exist in the repository.
func (p *Page) CheckLinks(tree fs.FS) (faults []string) {
	link := regexp.MustCompile(`\]\(([^)\s]+)|^\[[^\]]+\]:\s*(\S+)`)
	for i, line := range p.Prose() {
		for _, found := range link.FindAllStringSubmatch(line, -1) {
			target := found[1] + found[2]
			if err := p.Follow(target, tree); err != nil {
				faults = append(faults, p.Fault(i, "link to %s: %v", target, err))
			}
		}
	}
	return faults
}

// home is the address of the repository's files.
const home = "https://github.com/ashlar-go/ashlar/blob/main/"

// Follow returns an error if the target of a link of the page does not exist. It ignores other sites.
func (p *Page) Follow(target string, tree fs.FS) error {
	dir := path.Dir(p.Name)
	if inside, ok := strings.CutPrefix(target, home); ok {
		dir, target = ".", inside
	}
	if regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*:|//)`).MatchString(target) {
		return nil
	}
	file, anchor, _ := strings.Cut(target, "#")
	dest := p
	if file != "" {
		absolute := strings.HasPrefix(file, "/")
		if file = path.Join(dir, file); absolute || !fs.ValidPath(file) {
			return errors.New("path outside of the repository: use a path relative to the page")
		}
		info, err := fs.Stat(tree, file)
		if err != nil {
			return err
		}
		if info.IsDir() && anchor == "" {
			return nil
		}
		if dest, err = Read(tree, file); err != nil {
			return err
		}
	}
	if anchor != "" && !dest.hasHeading(anchor) {
		return fmt.Errorf("%s has no heading for #%s", dest.Name, anchor)
	}
	return nil
}

// hasHeading reports whether a heading has the anchor, as Markdown hosts derive it.
func (p *Page) hasHeading(anchor string) bool {
	return slices.ContainsFunc(p.Lines, func(line string) bool {
		title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !ok || !strings.HasPrefix(line, "#") {
			return false
		}
		title = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(title), "")
		return strings.ReplaceAll(strings.TrimSpace(title), " ", "-") == anchor
	})
}
