package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v3"
	"golang.org/x/net/http/httpguts"
)

// Parse reads what a file holds. lookup finds variables of the environment. An
// error names the file, the line, what was read and what may stand there.
func Parse(file string, data []byte, lookup func(string) (string, bool)) (*Config, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%s: has %d bytes; a configuration has at most %d", file, len(data), MaxFile)
	}
	p := &parser{file: file, lookup: lookup}
	var doc, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return &Config{}, nil
	} else if err != nil {
		return nil, p.syntax(err)
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, p.syntax(err)
		}
		return nil, p.fail(&more, "a second document begins here; a configuration is one")
	}
	root := doc.Content[0]
	c := &Config{}
	if isNull(root) {
		return c, nil
	}
	if err := p.into(root, reflect.ValueOf(c).Elem(), "", ""); err != nil {
		return nil, err
	}
	said := map[string]bool{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		said[root.Content[i].Value] = true
	}
	c.applyPreset(said)
	return c, nil
}

type parser struct {
	file   string
	lookup func(string) (string, bool)
}

// fail says where, and what is wrong.
func (p *parser) fail(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", p.file, n.Line, fmt.Sprintf(format, args...))
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// syntax gives the library's error the form of ours.
func (p *parser) syntax(err error) error {
	text := err.Error()
	m := yamlLine.FindStringSubmatch(text)
	if m == nil || m[1] == "" {
		return fmt.Errorf("%s: is no YAML: %s", p.file, strings.TrimPrefix(text, "yaml: "))
	}
	return fmt.Errorf("%s:%s: is no YAML: %s", p.file, m[1], text[len(m[0]):])
}

// read shows what stands in the file.
func read(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	if isNull(n) {
		return "nothing"
	}
	text := n.Value
	if len(text) > 60 {
		text = text[:60] + "..."
	}
	return strconv.Quote(text)
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func isBool(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!bool" }

// into reads a node into v. where is the path to it for messages; tag that of
// the field.
func (p *parser) into(n *yaml.Node, v reflect.Value, where string, tag reflect.StructTag) error {
	if n.Kind == yaml.AliasNode {
		return p.fail(n, "%s: aliases are not taken; write it out", where)
	}
	t := v.Type()
	if parse, ok := scalars[t]; ok {
		if n.Kind != yaml.ScalarNode || isNull(n) {
			return p.fail(n, "%s is %s; want %s", where, read(n), parse.is)
		}
		if special, ok := specials(t, tag)[n.Value]; ok {
			v.Set(reflect.ValueOf(special))
			return nil
		}
		value, err := parse.parse(n.Value)
		if err != nil {
			return p.fail(n, "%s is %s; %v%s", where, read(n), err, orSpecial(t, tag))
		}
		v.Set(reflect.ValueOf(value))
		return nil
	}
	if words := choices[t]; words != nil {
		if n.Kind != yaml.ScalarNode || !slices.Contains(words, n.Value) {
			return p.fail(n, "%s is %s; want %s", where, read(n), strings.Join(words, " or "))
		}
		v.SetString(n.Value)
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return p.section(n, v, where)
	case reflect.Struct:
		return p.object(n, v, where)
	case reflect.Slice:
		if t == reflect.TypeFor[Servers]() {
			return p.servers(n, v, where)
		}
		if n.Kind != yaml.SequenceNode {
			return p.fail(n, "%s is %s; want a list", where, read(n))
		}
		out := reflect.MakeSlice(t, len(n.Content), len(n.Content))
		for i, item := range n.Content {
			if err := p.into(item, out.Index(i), fmt.Sprintf("%s[%d]", where, i), tag); err != nil {
				return err
			}
		}
		v.Set(out)
	case reflect.Map:
		return p.table(n, v, where, tag)
	case reflect.Interface:
		var value any
		if err := n.Decode(&value); err != nil {
			return p.fail(n, "%s: %v", where, err)
		}
		if value != nil {
			v.Set(reflect.ValueOf(value))
		}
	case reflect.String:
		if n.Kind != yaml.ScalarNode || isNull(n) {
			return p.fail(n, "%s is %s; want a text", where, read(n))
		}
		text := n.Value
		if tag.Get("expand") != "" {
			var err error
			if text, err = expand(text, p.lookup); err != nil {
				return p.fail(n, "%s: %v", where, err)
			}
		}
		v.SetString(text)
	case reflect.Bool:
		if !isBool(n) {
			return p.fail(n, "%s is %s; want true or false", where, read(n))
		}
		v.SetBool(n.Value == "true" || n.Value == "True" || n.Value == "TRUE")
	case reflect.Int:
		most, _ := strconv.Atoi(tag.Get("max"))
		if most == 0 {
			most = 1_000_000
		}
		i, err := strconv.Atoi(n.Value)
		if n.Tag != "!!int" || err != nil || i < 1 || i > most {
			return p.fail(n, "%s is %s; want a whole number from 1 to %d", where, read(n), most)
		}
		v.SetInt(int64(i))
	default:
		panic("config: no way to read a " + t.String())
	}
	return nil
}

// section reads what may also be true, for its defaults, or false, for off.
func (p *parser) section(n *yaml.Node, v reflect.Value, where string) error {
	elem := reflect.New(v.Type().Elem())
	if elem.Elem().Kind() == reflect.Bool {
		if err := p.into(n, elem.Elem(), where, ""); err != nil {
			return err
		}
		v.Set(elem)
		return nil
	}
	switch {
	case isBool(n) && strings.EqualFold(n.Value, "false"):
		v.SetZero()
		return nil
	case isBool(n) || isNull(n):
		n = &yaml.Node{Kind: yaml.MappingNode, Line: n.Line}
	case n.Kind != yaml.MappingNode:
		return p.fail(n, "%s is %s; want its settings, or true or false", where, read(n))
	}
	if err := p.object(n, elem.Elem(), where); err != nil {
		return err
	}
	v.Set(elem)
	return nil
}

// object reads a mapping with fixed keys.
func (p *parser) object(n *yaml.Node, v reflect.Value, where string) error {
	if n.Kind != yaml.MappingNode {
		return p.fail(n, "%s is %s; want a mapping", orFile(where), read(n))
	}
	fields := map[string]reflect.StructField{}
	var names []string
	for f := range v.Type().Fields() {
		if name := f.Tag.Get("yaml"); name != "" {
			fields[name] = f
			names = append(names, name)
			if f.Tag.Get("on") != "" { // on unless it is said to be off
				v.FieldByIndex(f.Index).Set(reflect.New(f.Type.Elem()))
			}
		}
	}
	said := map[string]bool{}
	err := p.pairs(n, where, func(key, value *yaml.Node) error {
		f, ok := fields[key.Value]
		if !ok {
			return p.fail(key, "%s has no key %s; %sthere are %s", orFile(where), read(key), didYouMean(key.Value, names), strings.Join(names, ", "))
		}
		said[key.Value] = true
		return p.into(value, v.FieldByIndex(f.Index), join(where, key.Value), f.Tag)
	})
	if err != nil {
		return err
	}
	for _, name := range names {
		if fields[name].Tag.Get("required") != "" && !said[name] {
			return p.fail(n, "%s has no %s; it must be said", orFile(where), name)
		}
	}
	return nil
}

// didYouMean proposes the one of names that a typing error leads to.
func didYouMean(key string, names []string) string {
	if len(key) > 40 {
		return ""
	}
	key = strings.ReplaceAll(strings.ToLower(key), "-", "_")
	best := slices.MinFunc(names, func(a, b string) int {
		return levenshtein.ComputeDistance(key, a) - levenshtein.ComputeDistance(key, b)
	})
	if d := levenshtein.ComputeDistance(key, best); d > max(1, len(best)/3) {
		return ""
	}
	return fmt.Sprintf("did you mean %s? ", best)
}

// table reads a mapping whose keys are names of the user's.
func (p *parser) table(n *yaml.Node, v reflect.Value, where string, tag reflect.StructTag) error {
	if n.Kind != yaml.MappingNode {
		return p.fail(n, "%s is %s; want a mapping", where, read(n))
	}
	out := reflect.MakeMap(v.Type())
	err := p.pairs(n, where, func(key, value *yaml.Node) error {
		if key.Value == "" {
			return p.fail(key, "%s has an empty name", where)
		}
		item := reflect.New(v.Type().Elem()).Elem()
		if item.Kind() == reflect.Struct && isNull(value) {
			value = &yaml.Node{Kind: yaml.MappingNode, Line: value.Line}
		}
		if err := p.into(value, item, join(where, key.Value), tag); err != nil {
			return err
		}
		out.SetMapIndex(reflect.ValueOf(key.Value), item)
		return nil
	})
	v.Set(out)
	return err
}

// pairs visits the keys of a mapping, which are different.
func (p *parser) pairs(n *yaml.Node, where string, visit func(key, value *yaml.Node) error) error {
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			return p.fail(key, "%s: a key is %s; want a name", orFile(where), read(key))
		}
		if line, twice := lines[key.Value]; twice {
			return p.fail(key, "%s: %s is said twice, the first time in line %d", orFile(where), key.Value, line)
		}
		lines[key.Value] = key.Line
		if err := visit(key, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

var serverName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`)

// servers reads the servers in their order.
func (p *parser) servers(n *yaml.Node, v reflect.Value, where string) error {
	if n.Kind != yaml.MappingNode {
		return p.fail(n, "%s is %s; want a mapping from names to servers", where, read(n))
	}
	var out Servers
	err := p.pairs(n, where, func(key, value *yaml.Node) error {
		at := join(where, key.Value)
		if !serverName.MatchString(key.Value) {
			return p.fail(key, "%s: %s is no name for a server; want up to 32 letters, digits, _ and -, of which the first is a letter or a digit", where, strconv.Quote(key.Value))
		}
		s := Server{Name: key.Value}
		if err := p.object(value, reflect.ValueOf(&s).Elem(), at); err != nil {
			return err
		}
		switch {
		case len(s.Command) == 0 && s.URL == "":
			return p.fail(value, "%s has neither a command nor a url", at)
		case len(s.Command) > 0 && s.URL != "":
			return p.fail(value, "%s has a command and a url; want one of them", at)
		case len(s.Command) > 0 && s.Command[0] == "":
			return p.fail(value, "%s: the command's first word is empty", at)
		case s.URL != "" && !strings.HasPrefix(s.URL, "http://") && !strings.HasPrefix(s.URL, "https://"):
			return p.fail(value, "%s: the url must begin with http:// or https://", at) // it may hold a secret
		case s.URL != "" && (s.Env != nil || s.Dir != ""):
			return p.fail(value, "%s: env and dir are for a command, and this is a url", at)
		case len(s.Command) > 0 && s.Headers != nil:
			return p.fail(value, "%s: headers are for a url, and this is a command", at)
		}
		for name, text := range s.Headers {
			if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(text) {
				return p.fail(value, "%s.headers: %q has a character, in its name or its value, that no header may have", at, name)
			}
		}
		for name, text := range s.Env {
			if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(text, "\x00") {
				return p.fail(value, "%s.env: %q is no variable of an environment", at, name)
			}
		}
		out = append(out, s)
		return nil
	})
	v.Set(reflect.ValueOf(out))
	return err
}

func join(where, key string) string {
	if where == "" {
		return key
	}
	return where + "." + key
}

func orFile(where string) string {
	if where == "" {
		return "the file"
	}
	return where
}

// A scalar is a type that is written as one word.
type scalar struct {
	is    string
	parse func(string) (any, error)
}

func scalarOf[T any](is string, parse func(string) (T, error)) scalar {
	return scalar{is, func(s string) (any, error) {
		v, err := parse(s)
		return v, err
	}}
}

var scalars = map[reflect.Type]scalar{
	reflect.TypeFor[Size]():          scalarOf(sizeIs, parseSize),
	reflect.TypeFor[Rate]():          scalarOf(rateIs, parseRate),
	reflect.TypeFor[Date]():          scalarOf(dateIs, parseDate),
	reflect.TypeFor[Pattern]():       scalarOf(patternIs, parsePattern),
	reflect.TypeFor[time.Duration](): scalarOf(durationIs, parseDuration),
	reflect.TypeFor[Grace](): scalarOf(durationIs, func(s string) (Grace, error) {
		d, err := parseDuration(s)
		return Grace(d), err
	}),
}

var choices = map[reflect.Type][]string{
	reflect.TypeFor[Preset]():  {string(Recommended), string(Off)},
	reflect.TypeFor[Qualify](): {string(Always), string(Collisions)},
	reflect.TypeFor[Show]():    {string(ShowRedacted), string(ShowNothing)},
}

// specials are the words that a field takes besides.
func specials(t reflect.Type, tag reflect.StructTag) map[string]any {
	switch {
	case t == reflect.TypeFor[Grace]():
		return map[string]any{"at once": Eager}
	case tag.Get("off") != "":
		return map[string]any{"off": None}
	}
	return nil
}

func orSpecial(t reflect.Type, tag reflect.StructTag) string {
	for word := range specials(t, tag) {
		return ", or " + word
	}
	return ""
}
