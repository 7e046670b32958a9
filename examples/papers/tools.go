package main

import (
	"context"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/registry"
)

type searchInput struct {
	Query string `json:"query" jsonschema:"words of the title, an author, a tag or the text; the more match, the better"`
	Tag   string `json:"tag,omitempty" jsonschema:"only papers with exactly this tag, for example 'to read'"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many papers to return at most"`
}

type recentInput struct {
	Limit int `json:"limit,omitempty" jsonschema:"how many papers to return at most"`
}

type paperInput struct {
	PaperID string `json:"paper_id" jsonschema:"the paper's ID, for example p042"`
}

type noteInput struct {
	PaperID string `json:"paper_id" jsonschema:"the paper's ID, for example p042"`
	Text    string `json:"text" jsonschema:"the note, in plain text"`
}

type tagInput struct {
	PaperID string   `json:"paper_id" jsonschema:"the paper's ID, for example p042"`
	Tags    []string `json:"tags" jsonschema:"the tags to add; those that are there already are left as they are"`
}

type deleteInput struct {
	PaperID string `json:"paper_id" jsonschema:"the paper that the note belongs to"`
	NoteID  string `json:"note_id" jsonschema:"the note's ID, for example n3, as get_paper shows it"`
	Confirm bool   `json:"confirm" jsonschema:"true if the user has said that this note may go"`
}

type summary struct {
	PaperID string   `json:"paper_id"`
	Title   string   `json:"title"`
	Authors []string `json:"authors"`
	Year    int      `json:"year"`
	Tags    []string `json:"tags"`
}

type papersOutput struct {
	Papers []summary `json:"papers"`
	Total  int       `json:"total" jsonschema:"how many papers match, shown or not"`
}

const (
	usualFound = 10
	mostFound  = 50
)

// register registers the six tools with tools, or on server alone if tools is
// nil. Their aliases are names that models were seen to invent for them.
func (l *library) register(server *mcp.Server, tools *registry.Registry) {
	yes, no := true, false
	add(server, tools, &mcp.Tool{
		Name: "search_papers",
		Description: "Find papers in the personal knowledge base by words. Use it first, whenever a paper's ID is not known. " +
			"Returns summaries, the best match first, and how many there are; get_paper has the text and the notes of one.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
		InputSchema: inputSchema[searchInput](),
	}, l.searchPapers,
		registry.Aliases("search_knowledge", "search_knowledgebase", "ask_library"),
		registry.ArgumentAliases("query", "topic"))
	add(server, tools, &mcp.Tool{
		Name: "get_paper",
		Description: "Read one paper in full. Use it when the ID is known. " +
			"Returns title, authors, year, tags, the text and all notes with their IDs.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, l.getPaper)
	add(server, tools, &mcp.Tool{
		Name: "list_recent",
		Description: "List the papers that were added last. Use it for \"what is new\" and not to search. " +
			"Returns summaries, the latest first.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
		InputSchema: inputSchema[recentInput](),
	}, l.listRecent,
		registry.Aliases("whats_new"))
	add(server, tools, &mcp.Tool{
		Name: "add_note",
		Description: "Add a note to a paper. Use it to keep something that the user wants to find again. " +
			"Returns the paper with its notes; the new one is the last.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &no},
	}, l.addNote)
	add(server, tools, &mcp.Tool{
		Name: "tag_paper",
		Description: "Add tags to a paper. Use it to sort papers; search_papers can then be narrowed to a tag. " +
			"Returns the paper with all its tags.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &no, IdempotentHint: true},
	}, l.tagPaper)
	add(server, tools, &mcp.Tool{
		Name: "delete_note",
		Description: "Delete one note of a paper for good. Use it only when the user asked for it; there is no undo. " +
			"Returns the paper with the notes that are left.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes},
	}, l.deleteNote)
}

func add[In, Out any](server *mcp.Server, tools *registry.Registry, t *mcp.Tool, h mcp.ToolHandlerFor[In, Out], opts ...registry.ToolOption) {
	if tools == nil {
		mcp.AddTool(server, t, h)
		return
	}
	_ = registry.Add(tools, t, h, opts...) // the registry's Err has them all
}

// inputSchema is the schema that the SDK derives from In, with bounds and a
// default for limit.
func inputSchema[In any]() *jsonschema.Schema {
	s, err := jsonschema.For[In](nil)
	if err != nil {
		panic("papers: " + err.Error()) // the types above decide, not input
	}
	least, most := 1.0, float64(mostFound)
	limit := s.Properties["limit"]
	limit.Minimum, limit.Maximum, limit.Default = &least, &most, []byte("10")
	return s
}

func (l *library) searchPapers(_ context.Context, _ *mcp.CallToolRequest, in searchInput) (*mcp.CallToolResult, papersOutput, error) {
	found, total := l.search(in.Query, in.Tag, limitOf(in.Limit))
	return nil, papersOutput{summaries(found), total}, nil
}

func (l *library) listRecent(_ context.Context, _ *mcp.CallToolRequest, in recentInput) (*mcp.CallToolResult, papersOutput, error) {
	found := l.recent(limitOf(in.Limit))
	return nil, papersOutput{summaries(found), len(l.papers)}, nil
}

func (l *library) getPaper(_ context.Context, _ *mcp.CallToolRequest, in paperInput) (*mcp.CallToolResult, *paper, error) {
	p, ok := l.get(in.PaperID)
	if !ok {
		return nil, nil, noPaper(in.PaperID)
	}
	return nil, p, nil
}

func (l *library) addNote(_ context.Context, _ *mcp.CallToolRequest, in noteInput) (*mcp.CallToolResult, *paper, error) {
	text := strings.TrimSpace(in.Text)
	if text == "" || len(text) > maxNoteBytes {
		return nil, nil, errors.Invalid("a note of %d bytes cannot be added", len(text)).
			Because("a note has 1 to %d bytes", maxNoteBytes).Next("write a shorter note, or two")
	}
	return l.changed(in.PaperID, func(p *paper) error {
		if len(p.Notes) >= maxNotes {
			return errors.Refused("paper %s takes no more notes", p.ID).Because("it has %d", maxNotes).DoNotRetry()
		}
		p.Notes = append(p.Notes, note{l.nextNoteID(), text})
		return nil
	})
}

func (l *library) tagPaper(_ context.Context, _ *mcp.CallToolRequest, in tagInput) (*mcp.CallToolResult, *paper, error) {
	return l.changed(in.PaperID, func(p *paper) error {
		tags := slices.Clone(p.Tags)
		for _, t := range in.Tags {
			if t = strings.ToLower(strings.TrimSpace(t)); t == "" || len(t) > 40 {
				return errors.Invalid("%q is not a tag", t).Because("a tag has 1 to 40 bytes").Next("name a shorter one")
			}
			if !slices.Contains(tags, t) {
				tags = append(tags, t)
			}
		}
		if len(tags) > maxTags {
			return errors.Refused("paper %s would have %d tags", p.ID, len(tags)).Because("it may have %d", maxTags).Next("add fewer")
		}
		slices.Sort(tags)
		p.Tags = tags
		return nil
	})
}

func (l *library) deleteNote(_ context.Context, _ *mcp.CallToolRequest, in deleteInput) (*mcp.CallToolResult, *paper, error) {
	if !in.Confirm {
		return nil, nil, errors.Refused("note %s was not deleted", in.NoteID).
			Because("confirm is not true").Next("ask the user, and call again with confirm set to true if the user agrees")
	}
	return l.changed(in.PaperID, func(p *paper) error {
		kept := slices.DeleteFunc(slices.Clone(p.Notes), func(n note) bool { return n.ID == in.NoteID })
		if len(kept) == len(p.Notes) {
			return errors.NotFound("paper %s has no note %q", p.ID, in.NoteID).Next("get_paper lists the notes with their IDs")
		}
		p.Notes = kept
		return nil
	})
}

func (l *library) changed(id string, f func(*paper) error) (*mcp.CallToolResult, *paper, error) {
	p, ok, err := l.change(id, f)
	if !ok {
		return nil, nil, noPaper(id)
	}
	return nil, p, err
}

func noPaper(id string) error {
	return errors.NotFound("there is no paper %q", id).
		Because("IDs look like p042").Next("find the paper with search_papers")
}

// limitOf bounds a limit once more; the schema refuses others already.
func limitOf(limit int) int {
	if limit <= 0 {
		return usualFound
	}
	return min(limit, mostFound)
}

func summaries(papers []*paper) []summary {
	s := []summary{}
	for _, p := range papers {
		s = append(s, summary{p.ID, p.Title, p.Authors, p.Year, p.Tags})
	}
	return s
}
