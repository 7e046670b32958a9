//go:build unix

package replicas

import (
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A proxy stands between replicas and their PostgreSQL server, and can make it go
// away.
type proxy struct {
	t        testing.TB
	listener net.Listener
	network  string // of the server
	address  string
	database url.URL

	mu    sync.Mutex
	away  bool
	conns map[net.Conn]bool
}

func newProxy(t testing.TB, dsn string) *proxy {
	server, err := url.Parse(dsn)
	require.NoError(t, err)
	p := &proxy{t: t, conns: map[net.Conn]bool{}, network: "tcp", database: *server}
	host, port := server.Hostname(), server.Port()
	if q := server.Query(); q.Get("host") != "" {
		host, port = q.Get("host"), q.Get("port")
	}
	if port == "" {
		port = "5432"
	}
	p.address = net.JoinHostPort(host, port)
	if filepath.IsAbs(host) {
		p.network, p.address = "unix", filepath.Join(host, ".s.PGSQL."+port)
	}
	p.listener, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go p.serve()
	t.Cleanup(func() { p.listener.Close(); p.cut() })
	return p
}

// dsn is the way to the database through the proxy.
func (p *proxy) dsn() string {
	through := p.database
	through.Host = p.listener.Addr().String()
	q := through.Query()
	q.Del("host")
	q.Del("port")
	q.Set("sslmode", "disable")
	through.RawQuery = q.Encode()
	return through.String()
}

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(p.network, p.address)
		if err != nil || !p.keep(client, server) {
			client.Close()
			continue
		}
		pipe := func(to, from net.Conn) {
			_, _ = io.Copy(to, from)
			p.drop(to, from)
		}
		go pipe(client, server)
		go pipe(server, client)
	}
}

// keep notes a pair of connections, unless the server is away.
func (p *proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.away {
			c.Close()
		} else {
			p.conns[c] = true
		}
	}
	return !p.away
}

func (p *proxy) drop(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		c.Close()
		delete(p.conns, c)
	}
}

// cut ends every connection and lets no new one through.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = true
	for c := range p.conns {
		c.Close()
	}
}

// restore lets connections through again.
func (p *proxy) restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = false
}
