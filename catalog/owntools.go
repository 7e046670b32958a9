package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/wire"
)

// An ownTool is a tool of the catalog.
type ownTool struct {
	tool  *mcp.Tool
	op    *operation // checks its arguments; nil if what it runs does
	write bool       // advertised only while there is something to write
	run   func(ctx context.Context, req *mcp.CallToolRequest, args map[string]any) (*mcp.CallToolResult, error)
}

// handle checks the arguments and runs the tool.
func (t *ownTool) handle(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var raw json.RawMessage
	if req.Params != nil {
		raw = req.Params.Arguments
	}
	if t.op == nil {
		args, err := decodeObject(raw)
		if err != nil {
			return nil, errors.Invalid("the arguments of %s do not fit", t.tool.Name).Because("%s", err.Error())
		}
		return t.run(ctx, req, args)
	}
	args, f := t.op.arguments(raw)
	if f != nil {
		return nil, f
	}
	return t.run(ctx, req, args)
}

func newOwnTool(tool *mcp.Tool, schema map[string]any, run func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, error)) *ownTool {
	schema["type"] = "object"
	schema["additionalProperties"] = false
	raw, err := json.Marshal(schema)
	if err != nil {
		panic(err) // the schemas below are constants
	}
	op, err := compile(&Entry{ID: tool.Name, Parameters: raw})
	if err != nil {
		panic(err)
	}
	tool.InputSchema, tool.OutputSchema = json.RawMessage(raw), envelopeSchema
	return &ownTool{tool: tool, op: op, run: run}
}

// envelopeSchema is the output schema of every tool of a catalog. It is short,
// because a client that shows it to a model does so for each tool on each turn.
var envelopeSchema = json.RawMessage(`{"type":"object","required":["data","rate_limit"],"properties":{"data":{},` +
	`"rate_limit":{"anyOf":[{"type":"object","required":["limit","remaining","reset"]},{"type":"null"}]}}}`)

// envelope wraps data as every tool answers.
func envelope(req *mcp.CallToolRequest, data any, limit *RateLimit, extra ...mcp.Content) (*mcp.CallToolResult, error) {
	// What stands in the text block is escaped once more on the wire, so nothing
	// is escaped here that need not be: a URL reads as a URL.
	b, err := plainJSON(struct {
		Data      any        `json:"data"`
		RateLimit *RateLimit `json:"rate_limit"`
	}{data, limit})
	if err != nil {
		return nil, err
	}
	r := wire.NewToolText(req, string(b))
	r.Content = append(r.Content, extra...)
	r.StructuredContent = json.RawMessage(b)
	return r, nil
}

// plainJSON encodes without the escapes that only HTML needs.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// maxResultBytes bounds a result as it is sent. Clients end the session at
// 10 MiB.
const maxResultBytes = 8 << 20

// tooLarge reports whether a result is larger than what is sent. Text may be
// much longer there than it is.
func tooLarge(r *mcp.CallToolResult) bool {
	b, err := plainJSON(r)
	return err != nil || len(b) > maxResultBytes
}

func hints(reads, destroys, repeats, open bool) *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{ReadOnlyHint: reads, DestructiveHint: &destroys, IdempotentHint: repeats, OpenWorldHint: &open}
}

const free = " Free: it does not count against any quota."

// ownTools returns the tools of the catalog, in the order in which a model
// uses them.
func (c *Catalog) ownTools() []*ownTool {
	n := c.names
	text := func(description string, max int) map[string]any {
		return map[string]any{"type": "string", "description": description, "maxLength": max}
	}
	id := text("Id of the operation", 128)
	path := text("Instead of the id: its path, such as /v1/things/42", maxPathBytes+maxQueryBytes)
	arguments := map[string]any{"type": "object", "description": "Arguments of the operation, by name"}
	tools := []*ownTool{
		newOwnTool(&mcp.Tool{
			Name: n.Find, Title: "Find data", Annotations: hints(true, false, true, false),
			Description: "Searches all operations for those that answer a question, asked in plain words; names and codes such as 10-K are understood. Returns candidates, best first, with why each matched and a call that is ready to use. If nothing fits it says so, with the words that matched nothing: then the data is not here, so do not guess." + free,
		}, map[string]any{"properties": map[string]any{
			"question": text("What you want to know or do", maxQuestionBytes),
			"limit":    map[string]any{"type": "integer", "minimum": 1, "maximum": 20, "default": defaultLimit, "description": "How many candidates"},
		}}, c.find),
		newOwnTool(&mcp.Tool{
			Name: n.Describe, Title: "Describe an operation", Annotations: hints(true, false, true, false),
			Description: "Describes one operation by its id or path: what it gives, its parameters, an example call. Use it before the first call of an operation." + free,
		}, map[string]any{"properties": map[string]any{"id": id, "path": path}}, c.describe),
		newOwnTool(&mcp.Tool{
			Name: n.Browse, Title: "Browse the catalog", Annotations: hints(true, false, true, false),
			Description: "Lists all operations page by page, or those with a tag. To look for something, " + n.Find + " is better." + free,
		}, map[string]any{"properties": map[string]any{
			"cursor": text("next_cursor of the page before", 512),
			"tag":    text("Only operations with this tag", 128),
		}}, c.browse),
	}
	if c.opts.Caller != nil {
		call := func(verb string) map[string]any {
			return map[string]any{"properties": map[string]any{
				"id": id, "path": path, "arguments": arguments,
				"calls": map[string]any{
					"type": "array", "minItems": 1, "maxItems": c.opts.BatchLimit,
					"description": fmt.Sprintf("Several calls instead of one, at most %d, %s; each fails by itself", c.opts.BatchLimit, verb),
					"items": map[string]any{
						"type": "object", "additionalProperties": false,
						"properties": map[string]any{
							"id": map[string]any{"type": "string"}, "path": map[string]any{"type": "string"}, "arguments": map[string]any{"type": "object"},
						},
					},
				},
			}}
		}
		tools = append(tools, newOwnTool(&mcp.Tool{
			Name: n.Call, Title: "Call an operation that reads", Annotations: hints(true, false, true, true),
			Description: "Calls an operation that only reads, by its id and arguments, which " + n.Find + " and " + n.Describe + " give. Counts against the quota that rate_limit in the answer shows.",
		}, call("at once"), func(ctx context.Context, req *mcp.CallToolRequest, args map[string]any) (*mcp.CallToolResult, error) {
			return c.callTool(ctx, req, args, false)
		}))
		if !c.opts.NoWrites {
			write := newOwnTool(&mcp.Tool{
				Name: n.Write, Title: "Call an operation that changes something", Annotations: hints(false, true, false, true),
				Description: "Calls an operation that creates, changes or deletes, by its id and arguments. What only reads is called with " + n.Call + ". Counts against the quota.",
			}, call("in order"), func(ctx context.Context, req *mcp.CallToolRequest, args map[string]any) (*mcp.CallToolResult, error) {
				return c.callTool(ctx, req, args, true)
			})
			write.write = true
			tools = append(tools, write)
		}
	}
	if c.feedback != nil {
		tools = append(tools, c.feedbackTool())
	}
	return tools
}

// Instructions returns what a model should know about using the catalog, for
// [mcp.ServerOptions]. [Catalog.Install] adds it to a server that lacks it.
func (c *Catalog) Instructions() string {
	n := c.names
	var b strings.Builder
	fmt.Fprintf(&b, "The data and operations of this server are in a catalog. Find, describe, call: ask %s in plain words, read the parameters of a candidate with %s", n.Find, n.Describe)
	if c.opts.Caller != nil {
		fmt.Fprintf(&b, ", and call it with %s by its id", n.Call)
		if !c.opts.NoWrites {
			fmt.Fprintf(&b, " (%s if it changes something)", n.Write)
		}
	}
	fmt.Fprintf(&b, ". Finding, describing and browsing with %s are free; search again in other words before you call by guess. Say that something is not available only if %s found nothing or marked its results weak, and then name the words that matched nothing.", n.Browse, n.Find)
	if c.opts.Caller != nil {
		b.WriteString(" Every answer is {data, rate_limit}: slow down when rate_limit.remaining runs low, and wait rate_limit.reset seconds at zero.")
	}
	if c.feedback != nil {
		fmt.Fprintf(&b, " When an answer looks stale, missing, wrong or malformed against the primary source, report what you expected and what you got with %s.", n.Feedback)
	}
	return b.String()
}
