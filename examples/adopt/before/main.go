// Before is a server on the SDK alone, with three faults that are easy to have:
// it prints, it does not ask whether the note is there, and it hands on what the
// storage says. ../steady.diff makes it hold up, and touches none of its tools.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type note struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

var notes = map[string]*note{
	"n1": {"n1", "Water the plants on Monday."},
	"n2": {"n2", "The plants are on the balcony."},
}

type getInput struct {
	ID string `json:"id" jsonschema:"the note's id, such as n1"`
}

func getNote(_ context.Context, _ *mcp.CallToolRequest, in getInput) (*mcp.CallToolResult, note, error) {
	return nil, *notes[in.ID], nil // a nil pointer, for a note that is not there
}

type searchInput struct {
	Query string `json:"query" jsonschema:"a word that the notes have"`
}

type found struct {
	IDs []string `json:"ids"`
}

func searchNotes(_ context.Context, _ *mcp.CallToolRequest, in searchInput) (*mcp.CallToolResult, found, error) {
	fmt.Println("searching for", in.Query) // standard output is the protocol's
	ids := []string{}
	for _, id := range []string{"n1", "n2"} {
		if strings.Contains(notes[id].Text, in.Query) {
			ids = append(ids, id)
		}
	}
	return nil, found{ids}, nil
}

func exportNotes(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
	_, err := os.ReadFile("/srv/notes/customer-4711/export.json")
	return nil, nil, err // the path is nobody's business
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "v1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "get_note", Description: "Read a note.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, getNote)
	mcp.AddTool(server, &mcp.Tool{Name: "search_notes", Description: "Find notes by a word.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, searchNotes)
	mcp.AddTool(server, &mcp.Tool{Name: "export_notes", Description: "Export all notes."}, exportNotes)
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
