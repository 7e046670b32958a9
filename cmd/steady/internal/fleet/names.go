package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// Qualify says which names of tools and prompts carry their server's name.
type Qualify string

const (
	// Always is what most that put several servers behind one endpoint do. A
	// name means the same tool whichever servers happen to run.
	Always Qualify = "always"
	// Collisions leaves a name alone while no two servers have it.
	Collisions Qualify = "collisions"
)

// MaxName is how long a published name may be: more than 64 is refused by APIs of
// models, and by clients.
const MaxName = 64

// maxServerName leaves room for a tool's own name.
const maxServerName = 32

var (
	serverName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)
	notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]`)
)

// CheckServers says what is wrong with the servers' names, if anything is.
func CheckServers(servers []Server) error {
	seen := map[string]bool{}
	for _, s := range servers {
		switch {
		case len(s.Name) > maxServerName || !serverName.MatchString(s.Name):
			return fmt.Errorf("the name of server %q is to have at most %d letters, digits, hyphens and underscores", s.Name, maxServerName)
		case seen[s.Name]:
			return fmt.Errorf("two servers are called %q", s.Name)
		}
		seen[s.Name] = true
	}
	return nil
}

// qualified returns the name under which a server's item is published.
func qualified(server, own string) string {
	name := server + "_" + notInNames.ReplaceAllString(own, "_")
	if len(name) > MaxName {
		return hashed(server, own)
	}
	return name
}

// hashed is qualified for a name that is too long, or that another item already
// has: its end depends on nothing but the two names.
func hashed(server, own string) string {
	sum := sha256.Sum256([]byte(server + "\x00" + own))
	end := "_" + hex.EncodeToString(sum[:4])
	name := server + "_" + notInNames.ReplaceAllString(own, "_")
	return strings.TrimRight(name[:min(len(name), MaxName-len(end))], "_-") + end
}

// An owner is an item of a child, under the child's own name for it.
type owner struct {
	child *child
	own   string
}

// maxIssued bounds the names whose meaning is remembered.
const maxIssued = 20_000

// A book knows what the published names of one kind mean. A name that was once
// published never comes to mean something else, so that a client which remembers
// it cannot run another tool because a server has come or gone.
type book struct {
	current map[string]owner
	issued  map[string]owner
}

// publish gives names to what the children have, in their order. It reports what
// two of them have under the same name.
func (b *book) publish(q Qualify, items []owner, clash func(Collision)) map[owner]string {
	sharing := map[string][]string{} // servers by own name
	for _, o := range items {
		sharing[o.own] = append(sharing[o.own], o.child.Name)
	}
	b.current = map[string]owner{}
	if b.issued == nil {
		b.issued = map[string]owner{}
	}
	names := map[owner]string{}
	free := func(name string, o owner) bool {
		if other, ok := b.current[name]; ok && other != o {
			return false
		}
		other, ok := b.issued[name]
		return !ok || other == o
	}
	for _, o := range items {
		name := o.own
		if q != Collisions || len(sharing[o.own]) > 1 {
			name = qualified(o.child.Name, o.own)
		}
		if !free(name, o) {
			name = hashed(o.child.Name, o.own)
		}
		if !free(name, o) {
			clash(Collision{Name: o.own, Servers: []string{o.child.Name}, Published: []string{""}})
			continue
		}
		b.current[name], names[o] = o, name
		if len(b.issued) < maxIssued {
			b.issued[name] = o
		}
	}
	told := map[string]bool{}
	for _, o := range items {
		if servers := sharing[o.own]; len(servers) > 1 && !told[o.own] {
			told[o.own] = true
			c := Collision{Name: o.own, Servers: servers}
			for _, other := range items {
				if other.own == o.own {
					c.Published = append(c.Published, names[other])
				}
			}
			clash(c)
		}
	}
	return names
}

// find returns what a published name means.
func (b *book) find(name string) (owner, bool) {
	o, ok := b.current[name]
	if !ok {
		o, ok = b.issued[name]
	}
	return o, ok
}
