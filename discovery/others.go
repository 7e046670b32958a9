package discovery

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/wire"
)

// getPrompt resolves a prompt's name by the steps that lose nothing. What
// remains unknown is answered by the server itself, with suggestions added.
func (r *Resolver) getPrompt(ctx context.Context, next mcp.MethodHandler, method string, req *mcp.GetPromptRequest) (mcp.Result, error) {
	name := req.Params.Name
	var names []string
	list := &mcp.ListPromptsRequest{Session: req.Session, Extra: req.Extra}
	cursor := ""
	for range maxPages {
		list.Params = &mcp.ListPromptsParams{Meta: listMeta(req.Params.Meta), Cursor: cursor}
		res, err := next(ctx, wire.MethodListPrompts, list)
		page, ok := res.(*mcp.ListPromptsResult)
		if err != nil || !ok || page == nil {
			return next(ctx, method, req)
		}
		for _, p := range page.Prompts {
			if p == nil {
				continue
			}
			if p.Name == name {
				return next(ctx, method, req)
			}
			names = append(names, p.Name)
		}
		if page.NextCursor == "" || page.NextCursor == cursor || len(names) >= maxTools {
			break
		}
		cursor = page.NextCursor
	}
	found, step, near := r.lossless(name, names)
	if found == "" {
		res, err := next(ctx, method, req)
		return res, withSuggestions(err, name, near)
	}
	params := *req.Params
	params.Name = found
	changed := *req
	changed.Params = &params
	res, err := next(ctx, method, &changed)
	return r.discloseOther(ctx, method, res, err, name, found, step)
}

// readResource does the same for a resource's URI. A URI that is not listed
// may belong to a template, so only blanks, quotes and invisible characters
// are taken off it; case matters in a URI.
func (r *Resolver) readResource(ctx context.Context, next mcp.MethodHandler, method string, req *mcp.ReadResourceRequest) (mcp.Result, error) {
	uri := req.Params.URI
	var uris []string
	list := &mcp.ListResourcesRequest{Session: req.Session, Extra: req.Extra}
	cursor := ""
	for range maxPages {
		list.Params = &mcp.ListResourcesParams{Meta: listMeta(req.Params.Meta), Cursor: cursor}
		res, err := next(ctx, methodListResources, list)
		page, ok := res.(*mcp.ListResourcesResult)
		if err != nil || !ok || page == nil {
			return next(ctx, method, req)
		}
		for _, p := range page.Resources {
			if p == nil {
				continue
			}
			if p.URI == uri {
				return next(ctx, method, req)
			}
			uris = append(uris, p.URI)
		}
		if page.NextCursor == "" || page.NextCursor == cursor || len(uris) >= maxTools {
			break
		}
		cursor = page.NextCursor
	}
	found := ""
	if len(uri) <= maxName {
		found = clean(uri)
	}
	if found == uri || !slices.Contains(uris, found) {
		res, err := next(ctx, method, req)
		if !notFound(err) {
			return res, err // a template answers for it
		}
		found, _, near := r.lossless(uri, uris)
		if found != "" {
			near = []string{found}
		}
		return res, withSuggestions(err, uri, near)
	}
	params := *req.Params
	params.URI = found
	changed := *req
	changed.Params = &params
	res, err := next(ctx, method, &changed)
	return r.discloseOther(ctx, method, res, err, uri, found, StepClean)
}

const (
	methodListResources = "resources/list"

	// The SDK's code for an unknown resource before revision 2026-07-28.
	codeResourceNotFound = -32002
)

// lossless resolves a name among names by the steps up to fold, and proposes
// the nearest otherwise.
func (r *Resolver) lossless(name string, names []string) (found string, step Step, near []string) {
	tools := make([]*mcp.Tool, len(names))
	for i, n := range names {
		tools[i] = &mcp.Tool{Name: n}
	}
	o := *r.settings
	o.aliases = nil
	r.catalogs.mu.Lock()
	o.servers = append(o.servers[:len(o.servers):len(o.servers)], r.catalogs.servers...)
	r.catalogs.mu.Unlock()
	res := buildIndex(tools, &o).resolve(name, &o)
	for _, c := range res.Candidates {
		near = append(near, c.Name)
	}
	if !res.Step.Lossless() {
		return "", StepNone, near
	}
	return res.Tool, res.Step, near
}

// notFound reports whether err may say that there is no such thing.
func notFound(err error) bool {
	var e *jsonrpc.Error
	return errors.As(err, &e) && (e.Code == jsonrpc.CodeInvalidParams || e.Code == codeResourceNotFound)
}

// withSuggestions adds names to the server's own answer that there is no such
// thing. Other errors stay as they are.
func withSuggestions(err error, name string, near []string) error {
	if len(near) == 0 || !notFound(err) {
		return err
	}
	var e *jsonrpc.Error
	errors.As(err, &e)
	for i := range near {
		near[i] = plain(near[i], 200)
	}
	out := invalidParams(fmt.Sprintf("%s; the nearest are: %s", plain(e.Message, 300), strings.Join(near, ", ")), disclosure{Requested: shown(name), Suggestions: near})
	out.Code = e.Code
	if len(e.Data) > 0 {
		out.Data = e.Data
	}
	return out
}

func (r *Resolver) discloseOther(ctx context.Context, method string, res mcp.Result, err error, requested, found string, step Step) (mcp.Result, error) {
	r.observer.Observe(ctx, Routed{Method: method, Requested: shown(requested), Tool: found, Step: step})
	if err != nil || res == nil {
		return res, err
	}
	return disclose(res, disclosure{Requested: shown(requested), Resolved: found, Step: step}, ""), nil
}
