//lint:file-ignore SA1019 sampling and roots are deprecated, not gone: clients and handlers use them for another year

package tasks

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// This file holds what is known of the three kinds of questions that a server
// can ask a client; two of them are deprecated since revision 2026-07-28.

// request asks the client for something else than an elicitation, on behalf of
// a handler that was written before there were tasks.
func (r *run) request(ctx context.Context, method string, params mcp.Params) (mcp.Result, error) {
	caps := clientCapabilities(r.req)
	question, ok := params.(mcp.InputRequest)
	switch {
	case ok && method == methodSample && caps != nil && caps.Sampling != nil:
		res := new(mcp.CreateMessageWithToolsResult)
		return res, r.askOne(ctx, question, res)
	case ok && method == methodListRoots && caps != nil && caps.RootsV2 != nil:
		res := new(mcp.ListRootsResult)
		return res, r.askOne(ctx, question, res)
	}
	return nil, fmt.Errorf("tasks: the client does not support %s", method)
}

// legacyRevision is the last one in which a server could ask its client in the
// middle of a call.
const legacyRevision = "2025-11-25"

// workerState is the state of a session that has been initialized by a client
// which can do everything. What the real client can do is checked where its
// input requests are made.
func workerState(revision string) *mcp.ServerSessionState {
	return &mcp.ServerSessionState{
		InitializeParams: &mcp.InitializeParams{
			ProtocolVersion: revision,
			ClientInfo:      &mcp.Implementation{Name: "task"},
			Capabilities: &mcp.ClientCapabilities{
				Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}},
				Sampling:    &mcp.SamplingCapabilities{},
				RootsV2:     &mcp.RootCapabilities{},
			},
		},
		InitializedParams: &mcp.InitializedParams{},
	}
}

// questionFor makes of an input request what the client would have received as
// a request of its own.
func questionFor(cs *mcp.ClientSession, raw json.RawMessage) (method string, req mcp.Request, err error) {
	var r struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return "", nil, err
	}
	if len(r.Params) == 0 {
		r.Params = json.RawMessage(`{}`)
	}
	switch r.Method {
	case methodElicit:
		p := new(mcp.ElicitParams)
		err = json.Unmarshal(r.Params, p)
		req = &mcp.ElicitRequest{Session: cs, Params: p}
	case methodSample:
		p := new(mcp.CreateMessageWithToolsParams)
		err = json.Unmarshal(r.Params, p)
		req = &mcp.CreateMessageWithToolsRequest{Session: cs, Params: p}
	case methodListRoots:
		req = &mcp.ListRootsRequest{Session: cs, Params: &mcp.ListRootsParams{}}
	default:
		err = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("unknown input request %q", r.Method)}
	}
	return r.Method, req, err
}
