package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/wire"
)

// A Listing is what a server says about itself and its tools: what a model
// reads before anything is called.
type Listing struct {
	Server       string            `json:"server,omitempty"` // name, from serverInfo
	Version      string            `json:"version,omitempty"`
	Instructions string            `json:"instructions,omitempty"`
	Tools        []json.RawMessage `json:"tools"` // in the order in which they were listed
}

// Fingerprint returns the SHA-256, in hexadecimal, of the canonical JSON of the
// listed tools; see [Registry.Fingerprint], which it equals for a server whose
// tools are all the registry's.
func (l *Listing) Fingerprint() string {
	tools := make([]any, len(l.Tools))
	for i, t := range l.Tools {
		tools[i] = t
	}
	return fingerprint(tools)
}

// Limits on what a listing may be made of.
const (
	maxListedTools = 100_000
)

// ListingOf asks server what it advertises, over a connection in memory, and
// returns every tool to the byte as a client would get it.
func ListingOf(ctx context.Context, server *mcp.Server) (*Listing, error) {
	client, serverEnd := mcp.NewInMemoryTransports()
	ss, err := server.Connect(ctx, serverEnd, nil)
	if err != nil {
		return nil, fmt.Errorf("registry: connecting to the server: %w", err)
	}
	l, err := FetchListing(ctx, client)
	if cerr := ss.Wait(); err == nil && cerr != nil && !errors.Is(cerr, io.EOF) && !errors.Is(cerr, io.ErrClosedPipe) {
		err = cerr
	}
	return l, err
}

// FetchListing connects to the server behind transport, asks what it
// advertises, and disconnects. Unlike a [mcp.ClientSession] it keeps the bytes
// that the server sent. It speaks revision 2025-11-25, with a handshake.
func FetchListing(ctx context.Context, transport mcp.Transport) (_ *Listing, err error) {
	conn, err := transport.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("registry: connecting: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	f := fetcher{conn: conn}
	var init struct {
		ServerInfo   struct{ Name, Version string } `json:"serverInfo"`
		Instructions string                         `json:"instructions"`
	}
	err = f.call(ctx, wire.MethodInitialize, map[string]any{
		"protocolVersion": "2025-11-25",
		"capabilities":    map[string]any{},
		"clientInfo":      map[string]any{"name": "steady", "version": "1"},
	}, &init)
	if err != nil {
		return nil, err
	}
	if err := conn.Write(ctx, &jsonrpc.Request{Method: "notifications/initialized", Params: json.RawMessage(`{}`)}); err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	l := &Listing{Server: init.ServerInfo.Name, Version: init.ServerInfo.Version, Instructions: init.Instructions, Tools: []json.RawMessage{}}
	size := 0
	for params := map[string]any{}; ; {
		var page struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor string            `json:"nextCursor"`
		}
		if err := f.call(ctx, wire.MethodListTools, params, &page); err != nil {
			return nil, err
		}
		for _, t := range page.Tools {
			size += len(t)
		}
		l.Tools = append(l.Tools, page.Tools...)
		if len(l.Tools) > maxListedTools || size > maxListingBytes {
			return nil, fmt.Errorf("registry: the listing has more than %d tools or %d bytes", maxListedTools, maxListingBytes)
		}
		if page.NextCursor == "" || page.NextCursor == params["cursor"] || len(page.Tools) == 0 {
			return l, nil
		}
		params = map[string]any{"cursor": page.NextCursor}
	}
}

// A fetcher is a client that asks one thing at a time.
type fetcher struct {
	conn mcp.Connection
	last int64
}

func (f *fetcher) call(ctx context.Context, method string, params, into any) error {
	data, err := json.Marshal(params)
	if err != nil {
		return err
	}
	f.last++
	id, err := jsonrpc.MakeID(float64(f.last))
	if err != nil {
		return err
	}
	if err := f.conn.Write(ctx, &jsonrpc.Request{ID: id, Method: method, Params: data}); err != nil {
		return fmt.Errorf("registry: %s: %w", method, err)
	}
	for {
		msg, err := f.conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("registry: %s: %w", method, err)
		}
		switch msg := msg.(type) {
		case *jsonrpc.Response:
			if msg.ID != id {
				continue
			}
			if msg.Error != nil {
				return fmt.Errorf("registry: %s: %w", method, msg.Error)
			}
			if err := json.Unmarshal(msg.Result, into); err != nil {
				return fmt.Errorf("registry: the answer to %s cannot be read: %w", method, err)
			}
			return nil
		case *jsonrpc.Request:
			if !msg.IsCall() {
				continue
			}
			// The server asks for something that was not offered.
			if err := f.conn.Write(ctx, &jsonrpc.Response{ID: msg.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "not supported"}}); err != nil {
				return fmt.Errorf("registry: %s: %w", method, err)
			}
		}
	}
}

// ListingFromSession asks the server at the other end of a session. Properties
// come in alphabetical order, because the SDK's client does not keep theirs.
func ListingFromSession(ctx context.Context, session *mcp.ClientSession) (*Listing, error) {
	l := &Listing{Tools: []json.RawMessage{}}
	if init := session.InitializeResult(); init != nil {
		l.Instructions = init.Instructions
		if init.ServerInfo != nil {
			l.Server, l.Version = init.ServerInfo.Name, init.ServerInfo.Version
		}
	}
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("registry: tools/list: %w", err)
		}
		data, err := json.Marshal(tool)
		if err != nil {
			return nil, fmt.Errorf("registry: tool %q: %w", tool.Name, err)
		}
		l.Tools = append(l.Tools, data)
		if len(l.Tools) > maxListedTools {
			return nil, fmt.Errorf("registry: the listing has more than %d tools", maxListedTools)
		}
	}
	return l, nil
}

// ReadListing reads a listing that was saved: what encoding a [Listing] gives,
// the result of tools/list, a whole JSON-RPC response to it, or an array of
// tools.
func ReadListing(r io.Reader) (*Listing, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxListingBytes+1))
	if err != nil {
		return nil, fmt.Errorf("registry: reading a listing: %w", err)
	}
	if len(data) > maxListingBytes {
		return nil, fmt.Errorf("registry: the listing has more than %d bytes", maxListingBytes)
	}
	var saved struct {
		Listing
		Result *struct {
			Tools []json.RawMessage `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal(data, &saved.Tools); err == nil {
		return &saved.Listing, nil
	}
	saved.Listing = Listing{}
	if err := json.Unmarshal(data, &saved); err != nil {
		return nil, fmt.Errorf("registry: this is not a listing: %w", err)
	}
	if saved.Result != nil {
		saved.Tools = saved.Result.Tools
	}
	if saved.Tools == nil {
		return nil, errors.New("registry: this is not a listing: there are no tools in it")
	}
	return &saved.Listing, nil
}
