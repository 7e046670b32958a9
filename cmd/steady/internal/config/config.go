// Package config reads what `steady proxy` is to do besides passing messages on.
//
// The structs below are the only definition of the file: what it may say, its JSON
// schema and what is said about mistakes are read off them and their tags. The
// file that Commented holds is compared with them by a test.
package config

import (
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"time"
)

// Commented is a file that explains and has everything.
//
//go:embed commented.yaml
var Commented string

// MaxFile bounds the file, in bytes.
const MaxFile = 1 << 20

// A Config is what a file says. The zero Config passes messages on and does
// nothing else; so does every section that is nil.
type Config struct {
	Protect    Preset      `yaml:"protect" about:"the recommended protections, for whatever the file does not say itself"`
	Servers    Servers     `yaml:"servers" about:"the servers, by name, if not one on the command line"`
	Qualify    Qualify     `yaml:"qualify" about:"which tools and prompts of several servers carry their server's name" default:"always"`
	Repair     *Repair     `yaml:"repair" about:"wrong names and wrong arguments"`
	Results    *Results    `yaml:"results" about:"results that are too large"`
	Errors     *Errors     `yaml:"errors" about:"failures, and what they must not say"`
	Limits     *Limits     `yaml:"limits" about:"how long, how many at once, how often"`
	Names      *Names      `yaml:"names" about:"names that tools used to have, and other names"`
	Visibility *Visibility `yaml:"visibility" about:"which tools are there at all"`
	Search     *Search     `yaml:"search" about:"a search instead of a long list of tools"`
	Tasks      *Tasks      `yaml:"tasks" about:"slow calls that become handles"`
	Telemetry  *Telemetry  `yaml:"telemetry" about:"OpenTelemetry, sent where OTEL_EXPORTER_OTLP_ENDPOINT says"`
	Output     *Output     `yaml:"output" about:"how the server is run"`
}

// A Preset is a set of protections.
type Preset string

// The presets. Off is the same as none.
const (
	Recommended Preset = "recommended"
	Off         Preset = "off"
)

// Qualify says which names of several servers are qualified.
type Qualify string

// Always is the default; see package fleet.
const (
	Always     Qualify = "always"
	Collisions Qualify = "collisions"
)

// Servers are in the order of the file.
type Servers []Server

// A Server is a command to start or a URL to connect to.
type Server struct {
	Name    string
	Command []string          `yaml:"command" about:"the program and its arguments"`
	Env     map[string]string `yaml:"env" about:"in addition to the proxy's environment" expand:"true"`
	Dir     string            `yaml:"dir" about:"the directory to start it in"`
	URL     string            `yaml:"url" about:"a Streamable HTTP endpoint, instead of a command" expand:"true"`
	Headers map[string]string `yaml:"headers" about:"sent with every request to the URL" expand:"true"`
}

// Repair is for package discovery.
type Repair struct {
	Servers       []string   `yaml:"servers" about:"names under which clients know the server, as in mcp__files__read"`
	Prefixes      []string   `yaml:"prefixes" about:"beginnings of names that carry no meaning"`
	Suffixes      []string   `yaml:"suffixes" about:"endings of names that carry no meaning"`
	Abbreviations [][]string `yaml:"abbreviations" about:"groups of spellings of one thing"`
	Synonyms      [][]string `yaml:"synonyms" about:"groups of words that callers exchange"`
	RouteWrites   bool       `yaml:"route_writes" about:"let uncertain steps run tools that are not annotated read-only; never destructive ones"`
	RouteTools    []string   `yaml:"route_tools" about:"tools that every step may run"`
	Strict        bool       `yaml:"strict" about:"answer an unknown tool with the protocol error -32602"`
	Suggestions   int        `yaml:"suggestions" about:"how many names an answer proposes" default:"3" max:"10"`
}

// Results is for package pagination.
type Results struct {
	Bytes     Size            `yaml:"bytes" about:"the most that a result takes on the wire" default:"80kB"`
	PerTool   map[string]Size `yaml:"per_tool" about:"tools that deviate"`
	Resources Size            `yaml:"resources" about:"the same for resources/read; if left out, as bytes"`
	Keep      *Keep           `yaml:"keep" about:"keep what was cut, for the tool read_result" on:"true"`
}

// Keep says how results are kept.
type Keep struct {
	Bytes     Size          `yaml:"bytes" about:"in memory, of all callers together" default:"64MiB"`
	PerResult Size          `yaml:"per_result" about:"the largest that is kept" default:"16MiB"`
	For       time.Duration `yaml:"for" about:"how long" default:"15m"`
	Tool      string        `yaml:"tool" about:"the name of the tool that reads them" default:"read_result"`
}

// Errors is for package errors.
type Errors struct {
	Show Show `yaml:"show" about:"what the texts of the server's failures show: redacted, or nothing but an incident id" default:"redacted"`
}

// Show says how much is shown of the server's failures.
type Show string

// What is shown. Redacted leaves out stack traces and masks credentials.
const (
	ShowRedacted Show = "redacted"
	ShowNothing  Show = "nothing"
)

// Limits is for package limits.
type Limits struct {
	Deadline  time.Duration        `yaml:"deadline" about:"how long a call may take; off for no deadline" default:"50s" off:"true"`
	Running   int                  `yaml:"running" about:"how many calls run at once" default:"128"`
	PerCaller int                  `yaml:"per_caller" about:"and of one caller" default:"32"`
	Queue     int                  `yaml:"queue" about:"how many wait for a place" default:"256"`
	Wait      time.Duration        `yaml:"wait" about:"how long they wait" default:"5s"`
	Rate      Rate                 `yaml:"rate" about:"how often one caller may call, such as 10/s or 300/m"`
	Burst     int                  `yaml:"burst" about:"how many of them may come at once; if left out, one second's worth"`
	Tools     map[string]ToolLimit `yaml:"tools" about:"tools with bounds of their own"`
}

// A ToolLimit bounds one tool.
type ToolLimit struct {
	Deadline time.Duration `yaml:"deadline" about:"instead of the one above" off:"true"`
	Running  int           `yaml:"running" about:"how many calls of it run at once"`
	Rate     Rate          `yaml:"rate" about:"how often one caller may call it"`
	Burst    int           `yaml:"burst" about:"how many of them may come at once"`
}

// Names is for package registry.
type Names struct {
	Former    map[string]Former            `yaml:"former" about:"names that tools used to have, each with what it is now"`
	Aliases   map[string]string            `yaml:"aliases" about:"other names, each with the tool"`
	Arguments map[string]map[string]string `yaml:"arguments" about:"for each tool, other names of its parameters, each with the parameter"`
}

// A Former is what became of a tool.
type Former struct {
	Tool      string            `yaml:"tool" about:"its present name" required:"true"`
	Until     Date              `yaml:"until" about:"the last day on which the former name works; if left out, it works for good"`
	Arguments map[string]string `yaml:"arguments" about:"former names of arguments, each with the present one"`
	Added     map[string]any    `yaml:"added" about:"arguments that the former tool did not have, with the value that means what it did"`
}

// Visibility hides tools. What is hidden is answered like what does not exist.
// A pattern is a name in which * stands for any characters and ? for one.
type Visibility struct {
	Only     []Pattern `yaml:"only" about:"nothing but tools whose name fits one of the patterns"`
	Hide     []Pattern `yaml:"hide" about:"not those whose name fits one of the patterns"`
	OnlyTags []string  `yaml:"only_tags" about:"nothing but tools with one of the tags, in _meta of the tool"`
	HideTags []string  `yaml:"hide_tags" about:"not those with one of the tags"`
	ReadOnly bool      `yaml:"read_only" about:"nothing but tools that are annotated read-only"`
}

// Search is for package catalog.
type Search struct {
	Advertise []string    `yaml:"advertise" about:"tools that stay in the list"`
	Except    []string    `yaml:"except" about:"tools that are not to be found by the search"`
	NoWrites  bool        `yaml:"no_writes" about:"the search calls only tools that are annotated read-only"`
	Names     SearchNames `yaml:"names" about:"the names of its tools"`
}

// SearchNames are the names of the search's tools.
type SearchNames struct {
	Find     string `yaml:"find" about:"" default:"find_tools"`
	Describe string `yaml:"describe" about:"" default:"describe_tool"`
	Browse   string `yaml:"browse" about:"" default:"browse_tools"`
	Call     string `yaml:"call" about:"" default:"call_tool"`
	Write    string `yaml:"write" about:"" default:"call_tool_write"`
}

// WithDefaults returns the names with those that the file does not say.
func (n SearchNames) WithDefaults() SearchNames {
	return SearchNames{
		Find: cmp.Or(n.Find, "find_tools"), Describe: cmp.Or(n.Describe, "describe_tool"), Browse: cmp.Or(n.Browse, "browse_tools"),
		Call: cmp.Or(n.Call, "call_tool"), Write: cmp.Or(n.Write, "call_tool_write"),
	}
}

// Tasks is for package tasks.
type Tasks struct {
	Tools         map[string]Task `yaml:"tools" about:"the slow tools" required:"true"`
	ExtensionOnly bool            `yaml:"extension_only" about:"no tools to ask with, for clients with the tasks extension only"`
	Names         TaskNames       `yaml:"names" about:"the names of the tools to ask with"`
	Keep          int             `yaml:"keep" about:"how many tasks are kept, running and ended" default:"20000"`
	Bytes         Size            `yaml:"bytes" about:"memory for their arguments and results" default:"256MiB"`
}

// A Task says how the calls of one tool are run.
type Task struct {
	Grace       Grace         `yaml:"grace" about:"how long a caller waits for the result before it gets a handle; at once for none" default:"5s"`
	MaxRun      time.Duration `yaml:"max_run" about:"how long the work may take" default:"1h"`
	For         time.Duration `yaml:"for" about:"how long the result is kept" default:"1h"`
	Poll        time.Duration `yaml:"poll" about:"how often clients are told to ask" default:"1s"`
	Concurrency int           `yaml:"concurrency" about:"how many calls run at once" default:"64"`
	Queue       int           `yaml:"queue" about:"how many wait for their turn" default:"1024"`
	Window      time.Duration `yaml:"window" about:"how long after its end a call with the same arguments gets its result; off for never" default:"60s" off:"true"`
	Required    bool          `yaml:"required" about:"refuse callers that cannot follow a task"`
}

// TaskNames are the names of the tools to ask for a task with.
type TaskNames struct {
	Status string `yaml:"status" about:"" default:"task_status"`
	Result string `yaml:"result" about:"" default:"task_result"`
	Cancel string `yaml:"cancel" about:"" default:"task_cancel"`
	Answer string `yaml:"answer" about:"" default:"task_answer"`
}

// WithDefaults returns the names with those that the file does not say.
func (n TaskNames) WithDefaults() TaskNames {
	return TaskNames{
		Status: cmp.Or(n.Status, "task_status"), Result: cmp.Or(n.Result, "task_result"),
		Cancel: cmp.Or(n.Cancel, "task_cancel"), Answer: cmp.Or(n.Answer, "task_answer"),
	}
}

// Telemetry is for package otelobserve.
type Telemetry struct {
	Service string `yaml:"service" about:"the name of the service, unless OTEL_SERVICE_NAME says it" default:"steady-proxy"`
	Traces  *bool  `yaml:"traces" about:"send spans" default:"true"`
	Metrics *bool  `yaml:"metrics" about:"send metrics" default:"true"`
	Public  bool   `yaml:"public" about:"do not let clients choose the trace"`
}

// Output is for the proxy itself. A flag on the command line comes first.
type Output struct {
	MaxMessage Size          `yaml:"max_message" about:"the largest message that is passed on" default:"64MiB"`
	Start      time.Duration `yaml:"start" about:"how long a request waits for a server that is being started again" default:"10s"`
	EOFWindow  time.Duration `yaml:"eof_window" about:"how long the server may run on when the client's input has ended" default:"10s"`
	StopWindow time.Duration `yaml:"stop_window" about:"after SIGTERM, how long answers to what is in flight are waited for" default:"5s"`
}

// None is a duration that is switched off.
const None = time.Duration(-1)

// Read reads a file. What is wrong is said with the file's name and the line.
func Read(file string) (*Config, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if info.Size() > MaxFile {
		return nil, fmt.Errorf("%s: has %d bytes; a configuration has at most %d", file, info.Size(), MaxFile)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, data, os.LookupEnv)
}

// applyPreset gives what the preset has to the sections that the file says
// nothing about.
func (c *Config) applyPreset(said map[string]bool) {
	if c.Protect != Recommended {
		return
	}
	if !said["repair"] {
		c.Repair = &Repair{}
	}
	if !said["results"] {
		c.Results = &Results{Keep: &Keep{}}
	}
	if !said["errors"] {
		c.Errors = &Errors{Show: ShowRedacted}
	}
	if !said["limits"] {
		// How long a tool of somebody else may take is for those to say who know it.
		c.Limits = &Limits{Deadline: None}
	}
}

// RecommendedConfig returns what a file with nothing but the preset says.
func RecommendedConfig() *Config {
	c := &Config{Protect: Recommended}
	c.applyPreset(nil)
	return c
}

// Protects reports whether anything is to be done to messages.
func (c *Config) Protects() bool {
	return c.Repair != nil || c.Results != nil || c.Errors != nil || c.Limits != nil || c.Names != nil ||
		c.Visibility != nil || c.Search != nil || c.Tasks != nil || c.Telemetry != nil
}
