package otelobserve

import (
	"slices"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Attributes of the semantic conventions.
const (
	keyMethod          = attribute.Key("mcp.method.name")
	keyTool            = attribute.Key("gen_ai.tool.name")
	keyPrompt          = attribute.Key("gen_ai.prompt.name")
	keyOperation       = attribute.Key("gen_ai.operation.name")
	keyProtocolVersion = attribute.Key("mcp.protocol.version")
	keySession         = attribute.Key("mcp.session.id")
	keyResource        = attribute.Key("mcp.resource.uri")
	keyStatusCode      = attribute.Key("rpc.response.status_code")
	keyErrorType       = attribute.Key("error.type")
	keyTransport       = attribute.Key("network.transport")
	keyProtocol        = attribute.Key("network.protocol.name")
)

// Attributes of our own.
const (
	keyEvent    = attribute.Key("steady.event.name")
	keyLevel    = attribute.Key("steady.event.level")
	keyKind     = attribute.Key("steady.failure.kind")
	keyIncident = attribute.Key("steady.incident") // on spans only
	keyPart     = attribute.Key("steady.rewrite.part")
	keyStep     = attribute.Key("steady.rewrite.step")
	keyReason   = attribute.Key("steady.reason")
	keyBound    = attribute.Key("steady.bound")
	keyFormer   = attribute.Key("steady.former_name")
	keyGone     = attribute.Key("steady.gone")
	keyState    = attribute.Key("steady.task.state")
	keyTask     = attribute.Key("steady.task.id") // on spans only
	keyWeak     = attribute.Key("steady.weak")
)

// other stands for values that are not counted apart: names that the server
// does not have, and whatever would make too many series.
const other = "_OTHER"

const (
	errorTool      = "tool_error"
	errorCancelled = "cancelled"
	errorPanic     = "panic"
)

// A target is what a span and its duration are about: a request, or a session if
// it has no method. Every field is bounded, so that targets can be keys.
type target struct {
	method, tool, prompt string
	version              string
	http                 bool
}

// An outcome is what a request came to. The zero outcome is success.
type outcome struct{ errorType, statusCode string }

// A series is what is computed once for a target.
type series struct {
	spanName string
	attrs    []attribute.KeyValue
	start    trace.SpanStartEventOption

	mu       sync.RWMutex
	outcomes map[outcome]metric.MeasurementOption
}

func newSeries(k target) *series {
	s := &series{spanName: k.method}
	if k.method != "" {
		s.attrs = append(s.attrs, keyMethod.String(k.method))
	}
	s.attrs = append(s.attrs, keyTransport.String(k.transport()))
	if k.http {
		s.attrs = append(s.attrs, keyProtocol.String("http"))
	}
	if k.version != "" {
		s.attrs = append(s.attrs, keyProtocolVersion.String(k.version))
	}
	switch {
	case k.tool != "":
		s.spanName = k.method + " " + k.tool
		s.attrs = append(s.attrs, keyTool.String(k.tool), keyOperation.String("execute_tool"))
	case k.prompt != "":
		s.spanName = k.method + " " + k.prompt
		s.attrs = append(s.attrs, keyPrompt.String(k.prompt))
	}
	s.start = trace.WithAttributes(s.attrs...)
	return s
}

func (k target) transport() string {
	if k.http {
		return "tcp"
	}
	return "pipe"
}

// maxOutcomes bounds the outcomes that are kept for a target. Handlers choose
// the codes of their errors.
const maxOutcomes = 64

// measurement returns the attributes of a duration.
func (s *series) measurement(o outcome) metric.MeasurementOption {
	s.mu.RLock()
	m, ok := s.outcomes[o]
	full := len(s.outcomes) >= maxOutcomes
	s.mu.RUnlock()
	if ok {
		return m
	}
	if full {
		o = outcome{errorType: other}
	}
	attrs := slices.Concat(s.attrs, o.attributes()) // NewSet sorts what it is given
	m = metric.WithAttributeSet(attribute.NewSet(attrs...))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outcomes == nil {
		s.outcomes = map[outcome]metric.MeasurementOption{}
	}
	s.outcomes[o] = m
	return m
}

func (o outcome) attributes() []attribute.KeyValue {
	if o == (outcome{}) {
		return nil
	}
	attrs := []attribute.KeyValue{keyErrorType.String(o.errorType)}
	if o.statusCode != "" {
		attrs = append(attrs, keyStatusCode.String(o.statusCode))
	}
	return attrs
}

// maxSeries bounds the targets that are kept. What is beyond is computed anew.
const maxSeries = 8192

type seriesCache struct {
	mu sync.RWMutex
	m  map[target]*series
}

func (c *seriesCache) get(k target) *series {
	c.mu.RLock()
	s := c.m[k]
	c.mu.RUnlock()
	if s != nil {
		return s
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s = c.m[k]; s != nil {
		return s
	}
	s = newSeries(k)
	if c.m == nil {
		c.m = map[target]*series{}
	}
	if len(c.m) < maxSeries {
		c.m[k] = s
	}
	return s
}

// maxValues bounds the values of one attribute that comes from an event, and
// maxValue their length in bytes.
const (
	maxValues = 256
	maxValue  = 128
)

// valueSets keep the attributes of events within bounds, whatever the packages
// that emit them pass on.
type valueSets struct {
	mu sync.RWMutex
	m  map[attribute.Key]map[string]attribute.KeyValue
}

// attr returns key=value, or key=other for a value that would be one too many.
func (v *valueSets) attr(key attribute.Key, value string) attribute.KeyValue {
	if value == "" || len(value) > maxValue {
		return key.String(other)
	}
	v.mu.RLock()
	kv, ok := v.m[key][value]
	v.mu.RUnlock()
	if ok {
		return kv
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	set := v.m[key]
	if set == nil {
		if v.m == nil {
			v.m = map[attribute.Key]map[string]attribute.KeyValue{}
		}
		set = map[string]attribute.KeyValue{}
		v.m[key] = set
	}
	if kv, ok := set[value]; ok {
		return kv
	}
	if len(set) >= maxValues {
		return key.String(other)
	}
	kv = key.String(value)
	set[value] = kv
	return kv
}
