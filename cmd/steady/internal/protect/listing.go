package protect

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

// What protections know of the server's lists.
const (
	maxAge   = time.Minute     // of a list whose server tells of no changes
	missAge  = 2 * time.Second // of one that lacks a name which is called, and of a failure
	listWait = 10 * time.Second
	maxPages = 256
	maxItems = 20_000
)

// listings keeps what the stage behind lists, for protections that ask.
type listings struct {
	mu     sync.Mutex
	byName map[string]*listing // by method
}

// A listing is one list, all pages of it.
type listing struct {
	mu     sync.Mutex // held while it is fetched
	known  bool
	at     time.Time
	result mcp.Result
	err    error
	bytes  []byte // the encoding of result
}

func (l *listings) of(method string) *listing {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byName == nil {
		l.byName = map[string]*listing{}
	}
	if l.byName[method] == nil {
		l.byName[method] = &listing{}
	}
	return l.byName[method]
}

// forget has a list be asked for again: of "tools", "prompts" or "resources".
func (l *listings) forget(what string) {
	for _, method := range []string{what + "/list", what + "/templates/list"} {
		l.mu.Lock()
		if old := l.byName[method]; old != nil {
			// Who is fetching it goes on with what may be out of date.
			l.byName[method] = &listing{result: old.result, bytes: old.bytes}
		}
		l.mu.Unlock()
	}
}

// list answers a request for a list: the client's own goes to the stage behind, a
// protection's is answered with what is known.
func (s *session) list(ctx context.Context, c *call, next mcp.MethodHandler, method string, req mcp.Request) (mcp.Result, error) {
	var theirs mcp.Result
	var err error
	if method == c.method {
		theirs, err = s.ask(ctx, c, method, req.GetParams())
	} else {
		theirs, err = s.known(ctx, c, method, req.GetParams(), lacks(c, req))
	}
	if hasNot(err) && s.offers(method) {
		return next(ctx, method, req)
	}
	if err != nil || !s.offers(method) {
		return theirs, err
	}
	return s.withOwn(ctx, next, method, req, theirs)
}

// offers reports whether protections add something to a list.
func (s *session) offers(method string) bool {
	switch method {
	case "tools/list":
		return len(s.ours) > 0
	case "resources/list", "resources/templates/list":
		return s.p.cfg.Results != nil && s.p.cfg.Results.Keep != nil
	}
	return false
}

// withOwn adds what protections add to the last page of a list.
func (s *session) withOwn(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request, theirs mcp.Result) (mcp.Result, error) {
	switch theirs := theirs.(type) {
	case *mcp.ListToolsResult:
		if theirs.NextCursor != "" {
			return theirs, nil
		}
		own, err := next(ctx, method, &mcp.ListToolsRequest{Session: sessionOf(req), Params: &mcp.ListToolsParams{}})
		if err != nil {
			return nil, err
		}
		list, ok := own.(*mcp.ListToolsResult)
		if !ok {
			return theirs, nil
		}
		all := *theirs
		all.Tools = slices.Clip(theirs.Tools)
		for _, t := range list.Tools {
			if !slices.ContainsFunc(theirs.Tools, func(their *mcp.Tool) bool { return their != nil && their.Name == t.Name }) {
				all.Tools = append(all.Tools, t)
			}
		}
		return &all, nil
	case *mcp.ListResourceTemplatesResult:
		if theirs.NextCursor != "" {
			return theirs, nil
		}
		own, err := next(ctx, method, &mcp.ListResourceTemplatesRequest{Session: sessionOf(req), Params: &mcp.ListResourceTemplatesParams{}})
		if err != nil {
			return nil, err
		}
		if list, ok := own.(*mcp.ListResourceTemplatesResult); ok {
			all := *theirs
			all.ResourceTemplates = append(slices.Clip(theirs.ResourceTemplates), list.ResourceTemplates...)
			return &all, nil
		}
	}
	return theirs, nil
}

func sessionOf(req mcp.Request) *mcp.ServerSession {
	ss, _ := req.GetSession().(*mcp.ServerSession)
	return ss
}

// sameForAll is middleware outside of the registry, which takes a list that is not
// whole for one that is the caller's own. Here it is every caller's.
func sameForAll(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		list, ok := res.(*mcp.ListToolsResult)
		c := callFrom(ctx)
		if err != nil || !ok || c == nil {
			return res, err
		}
		shared := *list
		shared.CacheScope = ""
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.answers) > 0 {
			if first, ok := c.answers[0].result.(*mcp.ListToolsResult); ok {
				shared.CacheScope = first.CacheScope
			}
		}
		return &shared, nil
	}
}

// lacks returns what tells that a list must be out of date: a call of what it lacks.
func lacks(c *call, req mcp.Request) func(mcp.Result) bool {
	c.mu.Lock()
	given, _ := c.given.(*mcp.CallToolParamsRaw)
	c.mu.Unlock()
	return func(res mcp.Result) bool {
		list, ok := res.(*mcp.ListToolsResult)
		return ok && given != nil && !slices.ContainsFunc(list.Tools, func(t *mcp.Tool) bool { return t != nil && t.Name == given.Name })
	}
}

// known returns what the stage behind lists, as one page. It is asked when nothing
// is known, when that is old, and when it lacks what it should have.
func (s *session) known(ctx context.Context, c *call, method string, params mcp.Params, lacks func(mcp.Result) bool) (mcp.Result, error) {
	l := s.listings.of(method)
	l.mu.Lock()
	defer l.mu.Unlock()
	age := time.Since(l.at)
	lasting := l.err == nil && !lacks(l.result) || hasNot(l.err)
	if l.known && (age < missAge || age < maxAge && lasting) {
		return l.result, l.err
	}
	// Others may wait for it who are more patient than this caller.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listWait)
	defer cancel()
	res, err := s.fetch(ctx, c, method, params)
	encoded, _ := rpc.Encode(res)
	if err != nil || l.result == nil || !bytes.Equal(encoded, l.bytes) {
		l.result, l.bytes = res, encoded // otherwise what was made of it is still good
	}
	l.known, l.at, l.err = true, time.Now(), err
	return l.result, err
}

// hasNot reports whether a server does not have a list at all.
func hasNot(err error) bool {
	var e *jsonrpc.Error
	return errors.As(err, &e) && e.Code == rpc.NoMethod
}

// fetch asks for every page.
func (s *session) fetch(ctx context.Context, c *call, method string, params mcp.Params) (mcp.Result, error) {
	var all mcp.Result
	cursor := ""
	for range maxPages {
		page, err := s.ask(ctx, &call{id: c.id}, method, pageParams(method, params, cursor))
		if err != nil {
			return nil, err
		}
		next, n := join(&all, page)
		switch {
		case next == "" || next == cursor:
			return all, nil
		case n > maxItems:
			return nil, errors.New("the list is too long")
		}
		cursor = next
	}
	return nil, errors.New("the list does not end")
}

// pageParams asks for one page, as the caller of the request that needs the list.
func pageParams(method string, params mcp.Params, cursor string) mcp.Params {
	var meta mcp.Meta
	if v := reflect.ValueOf(params); v.IsValid() && !v.IsNil() {
		meta = maps.Clone(params.GetMeta())
		delete(meta, "progressToken")
	}
	switch method {
	case "tools/list":
		return &mcp.ListToolsParams{Meta: meta, Cursor: cursor}
	case "prompts/list":
		return &mcp.ListPromptsParams{Meta: meta, Cursor: cursor}
	case "resources/list":
		return &mcp.ListResourcesParams{Meta: meta, Cursor: cursor}
	default:
		return &mcp.ListResourceTemplatesParams{Meta: meta, Cursor: cursor}
	}
}

// readable returns the answer to a request for a list without the items that cannot
// be read, so that one of them does not cost the others. It returns nil if the answer
// holds no list.
func readable(method string, line []byte) []byte {
	of := map[string]string{
		"tools/list": "tools", "prompts/list": "prompts",
		"resources/list": "resources", "resources/templates/list": "resourceTemplates",
	}[method]
	items := jsonl.Member(jsonl.Member(line, "result"), of)
	if kind(items) != '[' {
		return nil
	}
	kept := []byte{'['}
	jsonl.Elements(items, func(item []byte) {
		one := slices.Concat([]byte(`{"`+of+`":[`), item, []byte("]}"))
		if _, err := decoders[method](one); err != nil || !isObject(item) {
			return
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(kept, item...)
	})
	return splice(line, items, append(kept, ']'))
}

// join adds a page to a list, and returns where the next one is and how long the
// list has become.
func join(all *mcp.Result, page mcp.Result) (next string, n int) {
	switch p := page.(type) {
	case *mcp.ListToolsResult:
		list, ok := (*all).(*mcp.ListToolsResult)
		if !ok {
			list = &mcp.ListToolsResult{}
			*all = list
		}
		list.Tools = append(list.Tools, p.Tools...)
		return p.NextCursor, len(list.Tools)
	case *mcp.ListPromptsResult:
		list, ok := (*all).(*mcp.ListPromptsResult)
		if !ok {
			list = &mcp.ListPromptsResult{}
			*all = list
		}
		list.Prompts = append(list.Prompts, p.Prompts...)
		return p.NextCursor, len(list.Prompts)
	case *mcp.ListResourcesResult:
		list, ok := (*all).(*mcp.ListResourcesResult)
		if !ok {
			list = &mcp.ListResourcesResult{}
			*all = list
		}
		list.Resources = append(list.Resources, p.Resources...)
		return p.NextCursor, len(list.Resources)
	}
	return "", 0
}

// shadowed reports whether the server has a tool of the name of one of ours. Then
// that is the one.
func (s *session) shadowed(ctx context.Context, c *call, req *mcp.CallToolRequest, name string) bool {
	res, err := s.known(ctx, c, "tools/list", req.Params, func(mcp.Result) bool { return false })
	list, ok := res.(*mcp.ListToolsResult)
	if err != nil || !ok || !slices.ContainsFunc(list.Tools, func(t *mcp.Tool) bool { return t != nil && t.Name == name }) {
		return false
	}
	s.clash.Do(func() { s.log("the server has a tool %q itself, which hides ours: give ours another name", name) })
	return true
}
