package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func guesses() *mistake {
	return &mistake{
		Number: 6,
		Title:  "The model guesses",
		About: "A model often calls a tool by the name that it would have elsewhere, and with the arguments that it would take there. " +
			"The server is the only one that can know what was meant, and what must not be run on a guess.",
		Scenes: []*scene{
			{Name: "names", Code: "ten calls of a tool that is there, by another name", play: guessedNames},
			{Name: "arguments", Code: "six calls of the right tool, with other arguments", play: guessedArguments},
			{Name: "denied", Code: "four calls that no tool may answer, whatever the name is like", play: guessedWrongly},
		},
	}
}

// A guess is a call that a model made, and the one that it meant.
type guess struct {
	tool string
	args arguments
	// means is the tool that was meant and with the arguments that it takes,
	// which are args if nil. Empty for a call that must not run.
	means string
	with  arguments
}

type arguments = map[string]any

var (
	trees = arguments{"query": "trees"}
	p001  = arguments{"paper_id": "p001"}
)

var nameGuesses = []guess{
	{tool: "searchPapers", args: trees, means: "search_papers"},
	{tool: "mcp__papers__search_papers", args: trees, means: "search_papers"},
	{tool: "functions.search_papers", args: trees, means: "search_papers"},
	{tool: "list_recent<|channel|>commentary", means: "list_recent", with: arguments{}},
	{tool: "search_knowledgebase", args: trees, means: "search_papers"},
	{tool: "search_paper", args: trees, means: "search_papers"},
	{tool: "serach_papers", args: trees, means: "search_papers"},
	{tool: "find_papers", args: trees, means: "search_papers"},
	{tool: "search_articles", args: trees, means: "search_papers"},
	{tool: "fetch_paper", args: p001, means: "get_paper"},
}

var argumentGuesses = []guess{
	{"search_papers", arguments{"question": "trees"}, "search_papers", trees},
	{"search_papers", arguments{"search_term": "trees", "limit": "5"}, "search_papers", arguments{"query": "trees", "limit": 5}},
	{"search_papers", arguments{"arguments": trees}, "search_papers", trees},
	{"get_paper", arguments{"paperId": "p001"}, "get_paper", p001},
	{"get_paper", arguments{"id": "p001"}, "get_paper", p001},
	{"tag_paper", arguments{"paper_id": "p001", "tags": "read"}, "tag_paper", arguments{"paper_id": "p001", "tags": []string{"read"}}},
}

var wrongGuesses = []guess{
	{tool: "delete_paper", args: p001},
	{tool: "remove_note", args: arguments{"paper_id": "p001", "note_id": "n1", "confirm": true}},
	{tool: "delete_note", args: arguments{"paper_id": "p001", "note_id": "n1", "confirm": "true"}},
	{tool: "send_email", args: arguments{"to": "hana@example.org"}},
}

func guessedNames(t *tour, s *scene) error {
	bare, err := t.bareAnswers(s, nameGuesses, func(answers []answer, r *run) {
		r.expect(all(answers, answer.unknown), "Each is an error of the protocol, and names no tool that is there:")
	})
	if err != nil {
		return err
	}
	return t.withPapers(s, func(server *server, r *run) error {
		r.head("the model calls", "without", "with", "found by")
		right := 0
		var notes []string
		for i, g := range nameGuesses {
			got, same, err := t.tryGuess(server, g)
			if err != nil {
				return err
			}
			if same {
				right++
			}
			facts := got.facts()
			r.row(same && facts.Resolved == g.means, g.tool, bare[i].brief(), orElse(facts.Resolved, got.brief()), facts.Step)
			if _, note, ok := strings.Cut(got.text(), "\nThere is no tool named "); ok {
				notes = append(notes, "There is no tool named "+note)
			}
		}
		r.expect(right == len(nameGuesses) && len(notes) == 5,
			"Each answer is what the right call gets. The last five were more than a matter of form, so their answers say so:")
		if len(notes) > 0 {
			r.quote(notes[0])
		}
		return nil
	})
}

func guessedArguments(t *tour, s *scene) error {
	bare, err := t.bareAnswers(s, argumentGuesses, func(answers []answer, r *run) {
		r.expect(all(answers, answer.refused), "Each is refused, with what is wrong and not what is right:")
	})
	if err != nil {
		return err
	}
	return t.withPapers(s, func(server *server, r *run) error {
		r.head("the model calls", "without", "with")
		right := 0
		for i, g := range argumentGuesses {
			got, same, err := t.tryGuess(server, g)
			if err != nil {
				return err
			}
			if same {
				right++
			}
			r.row(same && len(got.facts().Arguments) > 0, g.tool+" "+compact(g.args), bare[i].brief(), orElse(got.mended(g), got.brief()))
		}
		valid, same, err := t.tryGuess(server, guess{tool: "search_papers", args: trees, means: "search_papers"})
		if err != nil {
			return err
		}
		r.expect(right == len(argumentGuesses) && same && valid.result.Meta["steady/discovery"] == nil,
			"Each answer is what the right call gets. A call that fits as it is goes through as it is.")
		return nil
	})
}

func guessedWrongly(t *tour, s *scene) error {
	bare, err := t.bareAnswers(s, wrongGuesses, func(answers []answer, r *run) {
		r.expect(all(answers, func(a answer) bool { return a.unknown() || a.refused() }), "None is run, and none is told what there is instead:")
	})
	if err != nil {
		return err
	}
	return t.withPapers(s, func(server *server, r *run) error {
		if _, err := server.call(t.ctx, "add_note", arguments{"paper_id": "p001", "text": "ask Hana"}); err != nil {
			return err
		}
		r.head("the model calls", "without", "with", "the answer proposes")
		var proposals []string // to somebody who calls remove_note
		refusal := ""
		for i, g := range wrongGuesses {
			got := t.try(server, g)
			call, proposed := g.tool, strings.Join(got.facts().Suggestions, ", ")
			switch g.tool {
			case "delete_note":
				call += ` "confirm":"true"`
				if m := wanted.FindStringSubmatch(got.text()); m != nil {
					proposed = m[1] + " as " + m[2]
				}
			case "remove_note":
				proposals, refusal = got.facts().Suggestions, got.text()
			}
			done := "not run"
			if !got.refused() {
				done = got.brief()
			}
			r.row(got.refused() && strings.Contains(got.text(), "Next:"), call, bare[i].brief(), done, orElse(proposed, "nothing, for nothing is near"))
		}
		r.expect(len(proposals) > 0 && proposals[0] == "delete_note", "What deletes runs under its exact name only. It is proposed, and the model decides:")
		r.quote(refusal)
		read, err := server.call(t.ctx, "get_paper", p001)
		if err != nil {
			return err
		}
		r.expect(strings.Contains(textOf(read), "ask Hana"), "The note is still there.")
		return nil
	})
}

// wanted finds the parameter, and what it should be, in the refusal of a call.
var wanted = regexp.MustCompile(`/(\w+): .*?, wanted (an? \w+)`)

// bareAnswers makes the calls on the SDK alone.
func (t *tour) bareAnswers(s *scene, guesses []guess, claim func([]answer, *run)) (answers []answer, err error) {
	err = t.run(s, "without", t.papers, []string{"-bare"}, func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		for _, g := range guesses {
			answers = append(answers, t.try(server, g))
		}
		claim(answers, r)
		r.quote(answers[0].text())
		return nil
	})
	return answers, err
}

// withPapers runs the knowledge base with steady.
func (t *tour) withPapers(s *scene, act func(*server, *run) error) error {
	var args []string
	switch {
	case t.takesAway("discovery"):
		args = []string{"-without-discovery"}
	case t.takesAway(exactNames):
		args = []string{"-guess-deletes"}
	}
	return t.run(s, "with", t.papers, args, func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		return act(server, r)
	})
}

// An answer is what became of a call.
type answer struct {
	result *mcp.CallToolResult
	err    error
}

func (t *tour) try(server *server, g guess) answer {
	result, err := server.call(t.ctx, g.tool, g.args)
	return answer{result, err}
}

// tryGuess makes the call and the one that was meant, and reports whether both
// have the same structured content.
func (t *tour) tryGuess(server *server, g guess) (got answer, same bool, err error) {
	got = t.try(server, g)
	if g.with == nil {
		g.with = g.args
	}
	want, err := server.call(t.ctx, g.means, g.with)
	if err != nil {
		return got, false, err
	}
	same = got.result != nil && !got.result.IsError && !want.IsError && reflect.DeepEqual(got.result.StructuredContent, want.StructuredContent)
	return got, same, nil
}

func (a answer) text() string {
	if a.err != nil {
		return a.err.Error()
	}
	return textOf(a.result)
}

// unknown reports whether the answer is that there is no such tool.
func (a answer) unknown() bool {
	var protocol *jsonrpc.Error
	return errors.As(a.err, &protocol) && strings.HasPrefix(protocol.Message, "unknown tool")
}

// refused reports whether the tool, or what stands before it, answered with an error.
func (a answer) refused() bool { return a.err == nil && a.result.IsError }

func (a answer) brief() string {
	switch {
	case a.unknown():
		return "unknown tool"
	case a.err != nil:
		return "failed"
	case a.result.IsError:
		return "refused"
	}
	return "run"
}

// facts are what discovery says in _meta about what it did.
type facts struct {
	Resolved    string
	Step        string
	Suggestions []string
	Arguments   []struct{ Path, Kind, From string }
}

func (a answer) facts() (f facts) {
	if a.result != nil {
		data, _ := json.Marshal(a.result.Meta["steady/discovery"])
		_ = json.Unmarshal(data, &f)
	}
	return f
}

// mended says what was made of the guess's arguments.
func (a answer) mended(g guess) string {
	var changes []string
	for _, c := range a.facts().Arguments {
		property := strings.TrimPrefix(c.Path, "/")
		switch {
		case property == "":
			changes = append(changes, c.From+" -> "+compact(g.with))
		case c.From != "":
			changes = append(changes, c.From+" -> "+property)
		default:
			changes = append(changes, fmt.Sprintf("%s -> %s", property, compact(g.with[property])))
		}
	}
	return strings.Join(changes, ", ")
}

func all(answers []answer, is func(answer) bool) bool {
	return len(answers) > 0 && !slices.ContainsFunc(answers, func(a answer) bool { return !is(a) })
}

func compact(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
