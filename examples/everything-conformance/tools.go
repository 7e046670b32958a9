//lint:file-ignore SA1019 the suite asks for what is deprecated too

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolNames are the tools of the server, in the order of their registration.
var toolNames []string

// addTool registers a tool without arguments.
func addTool(server *mcp.Server, name, description string, h func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
	toolNames = append(toolNames, name)
	mcp.AddTool(server, &mcp.Tool{Name: name, Description: description},
		func(ctx context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
			res, err := h(ctx, req)
			return res, nil, err
		})
}

func content(c ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: c} }

func text(format string, args ...any) *mcp.CallToolResult {
	return content(&mcp.TextContent{Text: fmt.Sprintf(format, args...)})
}

func addContentTools(server *mcp.Server) {
	always := func(name, description string, c ...mcp.Content) {
		addTool(server, name, description, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return content(c...), nil
		})
	}
	image := &mcp.ImageContent{Data: redDot, MIMEType: "image/png"}
	always("test_simple_text", "Returns text.", &mcp.TextContent{Text: "This is a simple text response for testing."})
	always("test_image_content", "Returns an image.", image)
	always("test_audio_content", "Returns a sound.", &mcp.AudioContent{Data: silence, MIMEType: "audio/wav"})
	always("test_embedded_resource", "Returns a resource.", &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
		URI: "test://embedded-resource", MIMEType: "text/plain", Text: "This is an embedded resource content."}})
	always("test_multiple_content_types", "Returns a bit of everything.",
		&mcp.TextContent{Text: "Multiple content types test:"}, image,
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
			URI: "test://mixed-content-resource", MIMEType: "application/json", Text: `{"test":"data","value":123}`}})
	addTool(server, "test_error_handling", "Fails.", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("This tool intentionally returns an error for testing") //lint:ignore ST1005 the suite's text
	})

	mcp.AddTool(server, &mcp.Tool{
		Name:        "json_schema_2020_12_tool",
		Description: "Has an input schema that uses much of JSON Schema 2020-12.",
		InputSchema: json.RawMessage(schema2020),
	}, func(_ context.Context, _ *mcp.CallToolRequest, in map[string]any) (*mcp.CallToolResult, any, error) {
		return text("called with %d arguments", len(in)), nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{
		Name:        "test_x_mcp_header",
		Description: "Has an argument that a header repeats.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`),
	}, func(_ context.Context, _ *mcp.CallToolRequest, in map[string]any) (*mcp.CallToolResult, any, error) {
		return text("region %v", in["region"]), nil, nil
	})
	toolNames = append(toolNames, "json_schema_2020_12_tool", "test_x_mcp_header")
}

const schema2020 = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
	"properties": {
		"name": {"type": "string"},
		"address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]},
		"phone": {"type": "string"},
		"email": {"type": "string"}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]},
	"else": {"required": ["email"]},
	"additionalProperties": false
}`

// addSessionTools registers the tools that use their session while they run.
func addSessionTools(server *mcp.Server) {
	addTool(server, "test_tool_with_logging", "Logs while it works.", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			if i > 0 {
				time.Sleep(50 * time.Millisecond)
			}
			if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: line}); err != nil {
				return nil, err
			}
		}
		return text("logged"), nil
	})
	addTool(server, "test_logging_tool", "Logs if the request allows it.", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text("tried to log"), req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "working"})
	})
	addTool(server, "test_tool_with_progress", "Reports its progress.", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		token := req.Params.GetProgressToken()
		for _, done := range []float64{0, 50, 100} {
			if token != nil {
				if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: 100}); err != nil {
					return nil, err
				}
			}
			time.Sleep(50 * time.Millisecond)
		}
		return text("done, %v", token), nil
	})
	addTool(server, "test_streaming_elicitation", "Answers with nothing but its result.", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text("only a result"), nil
	})
	addTool(server, "test_reconnection", "Ends its event stream, and answers on the next.", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Extra != nil && req.Extra.CloseSSEStream != nil {
			req.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
		}
		time.Sleep(100 * time.Millisecond)
		return text("answered after the stream was closed"), nil
	})
	addTool(server, "test_missing_capability", "Needs a client that can sample.", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if caps := req.ClientCapabilities(); caps != nil && caps.Sampling != nil {
			return text("the client can sample"), nil
		}
		return nil, &jsonrpc.Error{
			Code:    mcp.CodeMissingRequiredClientCapabilities,
			Message: "this needs the client capability sampling",
			Data:    json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`),
		}
	})

	toolNames = append(toolNames, "test_sampling", "test_elicitation")
	type prompt struct {
		Prompt string `json:"prompt"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "test_sampling", Description: "Asks the client's model."},
		func(ctx context.Context, req *mcp.CallToolRequest, in prompt) (*mcp.CallToolResult, any, error) {
			res, err := req.Session.CreateMessage(ctx, sampling(in.Prompt, 100))
			if err != nil {
				return nil, nil, err
			}
			answer, _ := res.Content.(*mcp.TextContent)
			if answer == nil {
				return nil, nil, errors.New("the model did not answer with text")
			}
			return text("LLM response: %s", answer.Text), nil, nil
		})
	type message struct {
		Message string `json:"message"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "test_elicitation", Description: "Asks the user."},
		func(ctx context.Context, req *mcp.CallToolRequest, in message) (*mcp.CallToolResult, any, error) {
			res, err := elicited(ctx, req, in.Message, `{"username":{"type":"string"},"email":{"type":"string"}}`, "username", "email")
			return res, nil, err
		})
	addTool(server, "test_elicitation_sep1034_defaults", "Asks with defaults.", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return elicited(ctx, req, "Any changes?", `{
			"name": {"type": "string", "default": "John Doe"},
			"age": {"type": "integer", "default": 30},
			"score": {"type": "number", "default": 95.5},
			"status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
			"verified": {"type": "boolean", "default": true}}`)
	})
	addTool(server, "test_elicitation_sep1330_enums", "Asks to choose.", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return elicited(ctx, req, "Which?", `{
			"untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
			"titledSingle": {"type": "string", "oneOf": [{"const": "value1", "title": "First Option"}, {"const": "value2", "title": "Second Option"}]},
			"legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
			"untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
			"titledMulti": {"type": "array", "items": {"anyOf": [{"const": "value1", "title": "First Choice"}, {"const": "value2", "title": "Second Choice"}]}}}`)
	})
}

// form is the schema of a question with the given properties.
func form(properties string, required ...string) json.RawMessage {
	if required == nil {
		required = []string{}
	}
	list, _ := json.Marshal(required)
	return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":%s,"required":%s}`, properties, list))
}

func elicited(ctx context.Context, req *mcp.CallToolRequest, message, properties string, required ...string) (*mcp.CallToolResult, error) {
	res, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: message, RequestedSchema: form(properties, required...)})
	if err != nil {
		return nil, err
	}
	answer, err := json.Marshal(res.Content)
	return text("Elicitation completed: action=%s, content=%s", res.Action, answer), err
}

func sampling(prompt string, maxTokens int64) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{
		Messages:  []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: prompt}}},
		MaxTokens: maxTokens,
	}
}

// addRoundTripTools registers the tools that ask by returning questions.
func addRoundTripTools(server *mcp.Server) {
	const prefix = "test_input_required_result_"
	ask := func(state string, questions mcp.InputRequestMap) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{InputRequests: questions, RequestState: state}, nil
	}
	askName := &mcp.ElicitParams{Message: "What is your name?", RequestedSchema: form(`{"name":{"type":"string"}}`, "name")}
	confirm := &mcp.ElicitParams{Message: "Please confirm", RequestedSchema: form(`{"ok":{"type":"boolean"}}`, "ok")}

	addTool(server, prefix+"elicitation", "Asks for a name.", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if name := answered(req.Params.InputResponses, "user_name", "name"); name != "" {
			return text("Hello, %s!", name), nil
		}
		return ask("", mcp.InputRequestMap{"user_name": askName})
	})
	addTool(server, prefix+"sampling", "Asks the client's model.", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if said := sampled(req.Params.InputResponses, "capital_question"); said != "" {
			return text("The model says: %s", said), nil
		}
		return ask("", mcp.InputRequestMap{"capital_question": sampling("What is the capital of France?", 100)})
	})
	addTool(server, prefix+"list_roots", "Asks for roots.", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if roots, ok := req.Params.InputResponses["client_roots"].(*mcp.ListRootsResult); ok {
			var uris []string
			for _, r := range roots.Roots {
				uris = append(uris, r.URI)
			}
			return text("roots: %s", strings.Join(uris, " ")), nil
		}
		return ask("", mcp.InputRequestMap{"client_roots": &mcp.ListRootsParams{}})
	})
	addTool(server, prefix+"request_state", "Keeps its state with the client.", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Params.RequestState == "asked" && req.Params.InputResponses["confirm"] != nil {
			return text("state-ok"), nil
		}
		return ask("asked", mcp.InputRequestMap{"confirm": confirm})
	})
	addTool(server, prefix+"multiple_inputs", "Asks three things at once.", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		in := req.Params.InputResponses
		name, said := answered(in, "user_name", "name"), sampled(in, "greeting")
		if roots, ok := in["client_roots"].(*mcp.ListRootsResult); ok && name != "" && said != "" {
			return text("%s, %s: %d roots", said, name, len(roots.Roots)), nil
		}
		return ask("three", mcp.InputRequestMap{"user_name": askName, "greeting": sampling("Generate a greeting", 50), "client_roots": &mcp.ListRootsParams{}})
	})
	addTool(server, prefix+"multi_round", "Asks twice.", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		in, state := req.Params.InputResponses, req.Params.RequestState
		name, asked := strings.CutPrefix(state, "color of ")
		switch {
		case asked:
			return text("%s likes %s", name, answered(in, "step2", "color")), nil
		case state == "name":
			return ask("color of "+answered(in, "step1", "name"), mcp.InputRequestMap{"step2": &mcp.ElicitParams{
				Message: "Step 2: What is your favorite color?", RequestedSchema: form(`{"color":{"type":"string"}}`, "color")}})
		}
		return ask("name", mcp.InputRequestMap{"step1": &mcp.ElicitParams{Message: "Step 1: What is your name?", RequestedSchema: askName.RequestedSchema}})
	})
	addTool(server, prefix+"tampered_state", "Checks its state.", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		switch req.Params.RequestState { // a real one would be signed
		case "":
			return ask("genuine", mcp.InputRequestMap{"confirm": confirm})
		case "genuine":
			return text("state-ok"), nil
		}
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the request state was tampered with"}
	})
	addTool(server, prefix+"capabilities", "Asks only what the client can answer.", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		questions := mcp.InputRequestMap{}
		if caps := req.ClientCapabilities(); caps != nil && len(req.Params.InputResponses) == 0 {
			if caps.Elicitation != nil {
				questions["user_name"] = askName
			}
			if caps.Sampling != nil {
				questions["greeting"] = sampling("Generate a short greeting", 50)
			}
			if caps.RootsV2 != nil {
				questions["client_roots"] = &mcp.ListRootsParams{}
			}
		}
		if len(questions) == 0 {
			return text("nothing to ask"), nil
		}
		return ask("", questions)
	})
}

// answered returns one member of an accepted elicitation, or "".
func answered(responses mcp.InputResponseMap, key, member string) string {
	if res, ok := responses[key].(*mcp.ElicitResult); ok && res.Action == "accept" {
		s, _ := res.Content[member].(string)
		return s
	}
	return ""
}

// sampled returns the text that the client's model has answered with, or "".
func sampled(responses mcp.InputResponseMap, key string) string {
	if res, ok := responses[key].(*mcp.CreateMessageWithToolsResult); ok {
		for _, c := range res.Content {
			if t, ok := c.(*mcp.TextContent); ok {
				return t.Text
			}
		}
	}
	return ""
}

// addChangingTools registers the tools that change what the server has. Adding
// what is there already counts as a change.
func addChangingTools(server *mcp.Server) {
	addTool(server, "test_trigger_tool_change", "Changes the list of tools.", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		mcp.AddTool(server, &mcp.Tool{Name: "changed_tool", Description: "Added while the server runs."},
			func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
				return text("changed"), nil, nil
			})
		return text("changed"), nil
	})
	addTool(server, "test_trigger_prompt_change", "Changes the list of prompts.", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		server.AddPrompt(&mcp.Prompt{Name: "changed_prompt", Description: "Added while the server runs."}, say("changed"))
		return text("changed"), nil
	})
}
