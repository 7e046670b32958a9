package main

import (
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func endpoints() *mistake {
	return &mistake{
		Number: 7,
		Title:  "Fifty endpoints",
		About: "A tool for each endpoint of an API is read by the model on every turn, whether it is of use or not, and a tool that is " +
			"missing is taken for data that does not exist. One tool that takes a path is short, and hands the caller's key to whoever names a path.",
		Scenes: []*scene{
			{Name: "bytes", Code: "an API with fifty-eight endpoints: a tool for each, or a catalog behind a few", play: endpointBytes},
			{Name: "questions", Code: "ten questions in plain words, to find_data", play: endpointQuestions},
			{Name: "path", Code: `a document says: "call_api with this path"; a spy listens on another port`, play: endpointPath},
		},
	}
}

// How the server runs without steady: with a tool for each endpoint, or with
// one that takes a path.
var (
	toolForEach = []string{"-bare"}
	anyPath     = []string{"-bare", "-path"}
)

// generalTools are those that do not grow with the API; the others are
// shortcuts to six endpoints.
var generalTools = []string{"find_data", "describe_data", "get_catalog", "call_api", "submit_feedback"}

func endpointBytes(t *tour, s *scene) error {
	many := 0
	if err := t.run(s, "without", t.marketdata, toolForEach, func(server *server, r *run) error {
		list, names, err := t.tools(server)
		if err != nil {
			return err
		}
		many = len(list)
		r.expect(len(names) == 58, "%d tools: %d bytes, which is %d for each endpoint.", len(names), many, many/len(names))
		return nil
	}); err != nil {
		return err
	}
	return t.withCatalog(s, nil, toolForEach, func(server *server, r *run) error {
		list, names, err := t.tools(server)
		if err != nil {
			return err
		}
		general := 0
		var tools []json.RawMessage
		if err := json.Unmarshal(list, &tools); err != nil {
			return err
		}
		for i, tool := range tools {
			if slices.Contains(generalTools, names[i]) {
				general += len(tool)
			}
		}
		ratio := float64(many) / float64(len(list))
		r.expect(len(names) == 11 && ratio > 3, "%d tools: %d bytes. The other list is %.1f times as long.", len(names), len(list), ratio)
		r.expect(general > 0 && general < len(list)*2/3,
			"Five of them reach every endpoint, in %d bytes. Six are shortcuts that people see in a picker.", general)
		told := server.session.InitializeResult().Instructions
		r.expect(containsAll(told, "find_data", "describe_data", "call_api"), "The server's instructions, %d bytes, teach the way:", len(told))
		r.quote(told[max(0, strings.Index(told, "Find, describe, call")):])
		return nil
	})
}

// questions, and the endpoint that answers each. The last two are about what
// the API does not have.
var questions = []struct{ text, answer string }{
	{"what ticker is nimbus", "symbol-search"},
	{"did any insiders buy their own stock lately", "insider-trades"},
	{"which senators bought defense shares", "congress-trades"},
	{"is the yield curve inverted", "treasury-yields"},
	{"who is betting against Quarzal", "short-interest"},
	{"has it been hacked", "sec-8k-events"},
	{"how cold will the winter get", "degree-days"},
	{"convert 250 euro to dollars", "fx-rates"},
	{"carbon emissions of the company", ""},
	{"recipe for sourdough bread", ""},
}

// found is what find_data answers.
type found struct {
	Data struct {
		Results []struct {
			ID   string
			Call readyCall
		}
		Weak      bool
		Unmatched []string
	}
	RateLimit json.RawMessage `json:"rate_limit"`
}

type readyCall struct {
	Tool      string
	Arguments arguments
}

func endpointQuestions(t *tour, s *scene) error {
	return t.withCatalog(s, nil, toolForEach, func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		r.head("asked", "first of what is found")
		free := true
		var first *found
		for _, q := range questions {
			f := t.find(server, q.text)
			free = free && string(f.RateLimit) == "null"
			switch {
			case q.answer == "":
				r.row(len(f.Data.Results) == 0 && len(f.Data.Unmatched) > 0, q.text, "nothing; no endpoint has "+strings.Join(f.Data.Unmatched, ", "))
			case len(f.Data.Results) == 0:
				r.row(false, q.text, "nothing")
			default:
				r.row(f.Data.Results[0].ID == q.answer && !f.Data.Weak, q.text, f.Data.Results[0].ID)
				if first == nil {
					first = f
				}
			}
		}
		var ready readyCall
		if first != nil {
			ready = first.Data.Results[0].Call
		}
		answer, err := server.call(t.ctx, ready.Tool, ready.Arguments)
		r.expect(err == nil && !answer.IsError && strings.Contains(textOf(answer), `"symbol":"NMBS"`),
			"Each comes with a call that is ready to use. The first, %s %s, finds NMBS.", ready.Tool, compact(ready.Arguments))
		r.expect(free && strings.Contains(textOf(answer), `"remaining":59,`), "Asking was free: this was the first of sixty calls a minute.")
		return nil
	})
}

// find asks find_data. What could not be asked has found nothing.
func (t *tour) find(server *server, question string) *found {
	f := &found{}
	result, err := server.call(t.ctx, "find_data", arguments{"question": question})
	if err != nil || result.IsError {
		return f
	}
	_ = json.Unmarshal([]byte(textOf(result)), f) // what cannot be read has found nothing either
	return f
}

// injectedPaths are what the document says; the spy's address stands for SPY.
var injectedPaths = []string{"//SPY/v1/quotes", "http://SPY/v1/quotes", "/v1/../admin/usage"}

func endpointPath(t *tour, s *scene) error {
	spy, err := newSpy()
	if err != nil {
		return err
	}
	defer spy.close()
	var bare []string // what became of each path without steady
	if err := t.run(s, "without", t.marketdata, anyPath, func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		for _, path := range injectedPaths {
			bare = append(bare, t.inject(server, spy, path))
		}
		r.expect(spy.requests() == 2 && spy.saw("Bearer key-demo"), "The spy has received two requests, with the caller's key.")
		r.expect(bare[2] == readKeys, "The third path has left the API's public part, and read the keys of other callers.")
		return nil
	}); err != nil {
		return err
	}
	spy.forget()
	return t.withCatalog(s, []string{"-free-paths"}, anyPath, func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		r.head("the path", "without", "with")
		for i, path := range injectedPaths {
			got := t.inject(server, spy, path)
			r.row(strings.HasPrefix(got, "refused: "), path, bare[i], got)
		}
		r.expect(spy.requests() == 0, "The spy has seen nothing.")
		answer, err := server.call(t.ctx, "call_api", arguments{"path": "/v1/reference/symbols?query=nimbus"})
		if err != nil {
			return err
		}
		r.expect(!answer.IsError && strings.Contains(textOf(answer), `"remaining":59,`), "Nor has the API: it counts one call, of a path below its prefix.")
		return nil
	})
}

// readKeys is what becomes of a path that leads to the keys of other callers.
const readKeys = "has read keys"

// inject calls a path and says what became of it.
func (t *tour) inject(server *server, spy *spy, path string) string {
	before := spy.requests()
	result, err := server.call(t.ctx, "call_api", arguments{"path": strings.ReplaceAll(path, "SPY", spy.address)})
	switch {
	case err != nil:
		return "failed"
	case spy.requests() > before:
		return "sent to the spy"
	case strings.Contains(textOf(result), "key-ada"):
		return readKeys
	case !result.IsError:
		return "answered"
	}
	return "refused: " + reason(result)
}

// reason returns why a call was refused, or the whole text if it does not say.
func reason(result *mcp.CallToolResult) string {
	text := textOf(result)
	if _, why, ok := strings.Cut(text, "Reason: "); ok {
		text, _, _ = strings.Cut(why, ". Next:")
		text, _, _ = strings.Cut(text, ":")
	}
	return text
}

// withCatalog runs the market data server with steady. In a test that leaves
// the catalog out it runs with the arguments bare instead.
func (t *tour) withCatalog(s *scene, args, bare []string, act func(*server, *run) error) error {
	if t.takesAway(catalogPart) {
		args = bare
	}
	return t.run(s, "with", t.marketdata, args, act)
}

// A spy is somebody else's server.
type spy struct {
	address string
	server  *http.Server

	mu   sync.Mutex
	keys []string // of the requests, as they came
}

func newSpy() (*spy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &spy{address: listener.Addr().String()}
	s.server = &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.keys = append(s.keys, r.Header.Get("Authorization"))
	}), ReadHeaderTimeout: callTimeout}
	go func() { _ = s.server.Serve(listener) }()
	return s, nil
}

func (s *spy) close() { _ = s.server.Close() }

func (s *spy) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.keys)
}

// saw reports whether each request had the credential.
func (s *spy) saw(credential string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(s.keys, func(key string) bool { return key != credential })
}

func (s *spy) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = nil
}
