package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"
)

// noValue is how the parser complains of a flag at the end, or before another.
var noValue = regexp.MustCompile(`^(--[a-z-]+): expected .* but got "(.*?)" \(`)

// shortFlag is how it complains of something that begins with one -.
var shortFlag = regexp.MustCompile(`^unknown flag -[^-]`)

// misuse makes a usage error of what the parser of the command line says.
func misuse(err error) error {
	hint := "weir --help lists the commands"
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil && parse.Context.Selected() != nil {
		selected := parse.Context.Selected()
		hint = selected.FullPath() + " --help lists the flags"
		if as := example(selected.Detail); as != "" && strings.HasPrefix(err.Error(), "expected ") {
			hint = "as in " + as + "; " + hint
		}
	}
	message, guess, found := strings.Cut(err.Error(), ", did you mean ")
	switch {
	case strings.HasPrefix(hint, "weir search ") && shortFlag.MatchString(message):
		hint = "to leave out pages that say a word, quote the question: weir search DIR 'solar -wind'"
	case message == "unknown flag --at" || message == "unknown flag --certs":
		hint = notAt(hint)
	case found:
		hint = "did you mean " + guess
	}
	if m := noValue.FindStringSubmatch(message); m != nil {
		message = m[1] + " needs a value"
		if m[2] != "EOL" {
			hint = fmt.Sprintf("if %s is meant to be its value, write %s=%s", m[2], m[1], m[2])
		}
	}
	return usage(hint, "%s", message)
}

// example is the first of a help text.
func example(help string) string {
	_, list, _ := strings.Cut(help, "Examples:\n")
	first, _, _ := strings.Cut(strings.TrimSpace(list), "\n")
	first, _, _ = strings.Cut(first, "   ") // what it does
	return first
}

// notAt says what to do instead of asking a whole cluster. Hint names the command.
func notAt(hint string) string {
	switch command := strings.TrimSuffix(hint, " --help lists the flags"); command {
	case "weir why", "weir get", "weir check", "weir release", "weir explain":
		return command + " reads one folder: that of a node (DIR/crawl) on its machine, while the node is stopped; export, query and search have --at"
	}
	return "of a cluster, weir submit, status, steer, drain, export, query and search ask with --at"
}

// choice is an error about a value that is none of the words allowed.
func choice(what, got string, words ...string) error {
	hint := "choose " + strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
	if near := nearest(got, words); near != "" {
		hint = fmt.Sprintf("did you mean %s? There are %s", near, strings.Join(words, ", "))
	}
	return usage(hint, "%s: there is no %q", what, got)
}

// nearest returns the word that was probably meant, or "".
func nearest(got string, words []string) string {
	best, least := "", max(2, len(got)/3)+1
	for _, w := range words {
		if got != "" && strings.HasPrefix(w, got) {
			return w
		}
		if d := distance(got, w); d < least {
			best, least = w, d
		}
	}
	return best
}

// distance is how many letters must be added, dropped or changed to make b of
// a (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, corner+1)
		}
	}
	return row[len(b)]
}
