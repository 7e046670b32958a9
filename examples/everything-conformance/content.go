package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// redDot is a PNG of one pixel, and silence a WAV of eight samples.
var redDot, silence = makeDot(), makeSilence()

func makeDot() []byte {
	img := image.NewRGBA(image.Rect(0, 0, 1, 1))
	img.Set(0, 0, color.RGBA{R: 255, A: 255})
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func makeSilence() []byte {
	const samples, rate = 8, 8000
	var b bytes.Buffer
	put := func(values ...any) {
		for _, v := range values {
			if s, ok := v.(string); ok {
				v = []byte(s)
			}
			if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
				panic(err)
			}
		}
	}
	put("RIFF", uint32(36+samples), "WAVEfmt ", uint32(16), uint16(1), uint16(1), uint32(rate), uint32(rate), uint16(1), uint16(8))
	put("data", uint32(samples), bytes.Repeat([]byte{128}, samples))
	return b.Bytes()
}

const watched = "test://watched-resource"

func addResources(server *mcp.Server) {
	add := func(uri, name, mimeType string, c mcp.ResourceContents) {
		server.AddResource(&mcp.Resource{URI: uri, Name: name, Description: "A resource for testing.", MIMEType: mimeType},
			func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				one := c
				one.URI, one.MIMEType = uri, mimeType
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{&one}}, nil
			})
	}
	add("test://static-text", "text", "text/plain", mcp.ResourceContents{Text: "This is the content of the static text resource."})
	add("test://static-binary", "binary", "image/png", mcp.ResourceContents{Blob: redDot})
	add(watched, "watched", "text/plain", mcp.ResourceContents{Text: "This changes."})

	server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template",
		Description: "A resource for each id.", MIMEType: "application/json"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(req.Params.URI, "test://template/"), "/data")
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "application/json",
				Text: fmt.Sprintf(`{"id":%q,"templateTest":true,"data":%q}`, id, "Data for ID: "+id)}}}, nil
		})
}

// say is a prompt of one message.
func say(format string, args ...any) mcp.PromptHandler {
	return func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return prompt(&mcp.TextContent{Text: fmt.Sprintf(format, args...)}), nil
	}
}

func prompt(messages ...mcp.Content) *mcp.GetPromptResult {
	res := &mcp.GetPromptResult{}
	for _, c := range messages {
		res.Messages = append(res.Messages, &mcp.PromptMessage{Role: "user", Content: c})
	}
	return res
}

func addPrompts(server *mcp.Server) {
	server.AddPrompt(&mcp.Prompt{Name: "test_simple_prompt", Description: "Has no arguments."}, say("This is a simple prompt for testing."))
	server.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_arguments", Description: "Has two arguments.",
		Arguments: []*mcp.PromptArgument{{Name: "arg1", Required: true}, {Name: "arg2", Required: true}}},
		func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return say("Prompt with arguments: arg1='%s', arg2='%s'", req.Params.Arguments["arg1"], req.Params.Arguments["arg2"])(ctx, req)
		})
	server.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_embedded_resource", Description: "Holds a resource.",
		Arguments: []*mcp.PromptArgument{{Name: "resourceUri", Required: true}}},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return prompt(
				&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: req.Params.Arguments["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing."}},
				&mcp.TextContent{Text: "Please process the embedded resource above."}), nil
		})
	server.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_image", Description: "Holds an image."},
		func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return prompt(&mcp.ImageContent{Data: redDot, MIMEType: "image/png"}, &mcp.TextContent{Text: "Please analyze the image above."}), nil
		})
	server.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt", Description: "Asks before it answers."},
		func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			if c := answered(req.Params.InputResponses, "user_context", "context"); c != "" {
				return say("Context: %s", c)(ctx, req)
			}
			return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{"user_context": &mcp.ElicitParams{
				Message: "What context should the prompt use?", RequestedSchema: form(`{"context":{"type":"string"}}`, "context")}}}, nil
		})
}
