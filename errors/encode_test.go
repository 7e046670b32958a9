package errors

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type textKey int

func (textKey) MarshalText() ([]byte, error) { return nil, New("no") }

type byPointer struct{ N int }

func (*byPointer) MarshalJSON() ([]byte, error) { return nil, New("no") }

type holder struct {
	Skipped func() `json:"-"`
	hidden  chan int
	embedded
	P *byPointer
	A [2]byPointer
}

type embedded struct{ F float64 }

type tree struct {
	N   int
	Sub []tree
	Any any
	Up  *tree
}

// What surely lets pass without a try must encode.
func TestSurelyIsRight(t *testing.T) {
	for _, test := range []struct {
		v    any
		sure bool
	}{
		{map[string]any{"a": []any{1, 2.5, "x", nil, true}}, true},
		{holder{hidden: make(chan int)}, false}, // whether it is addressable decides whose method counts
		{tree{Sub: []tree{{N: 1}}}, true},
		{tree{Any: make(chan int)}, false},
		{holder{embedded: embedded{math.Inf(1)}}, false},
		{holder{P: &byPointer{}}, false},
		{[]byPointer{{}}, false},
		{map[string]byPointer{"a": {}}, false},
		{map[string]byPointer{}, true},
		{map[textKey]int{1: 1}, false},
		{map[int]int{1: 1}, false},
		{json.Number("1"), false},
		{json.RawMessage(`{`), false},
		{[]json.RawMessage{json.RawMessage(`{}`), nil}, true},
		{time.Now(), true},
		{[]time.Time{{}, time.Date(9999, 12, 31, 23, 0, 0, 0, time.UTC)}, false},
		{[]byte("x"), true},
		{complex(1, 1), false},
		{uintptr(1), true},
		{(*int)(nil), true},
		{"\xff", true},
	} {
		require.Equal(t, test.sure, surely(reflect.ValueOf(test.v), 0), "%T", test.v)
		if surely(reflect.ValueOf(test.v), 0) {
			_, err := json.Marshal(test.v)
			require.NoError(t, err, "%T", test.v)
		}
	}
}

// A value of a type that every value of encodes is not looked at.
func TestPlan(t *testing.T) {
	require.Equal(t, plan{}, planOf(reflect.TypeFor[struct {
		A, B string
		C    []struct{ D map[string]*int }
	}]()))
	require.Equal(t, plan{look, []int{2}}, planOf(reflect.TypeFor[struct {
		A, B string
		C    float64
	}]()))
	require.Equal(t, plan{look, []int{1, 2, 3}}, planOf(reflect.TypeFor[tree]()))
}

func TestSurelyIsRightForAnyValue(t *testing.T) {
	var value *rapid.Generator[any]
	leaf := rapid.OneOf(
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int().AsAny(), rapid.String().AsAny(), rapid.Float64().AsAny(),
		rapid.Just[any](math.NaN()), rapid.Just[any](json.Number("x")), rapid.Just[any](json.Number("1")), rapid.Just[any](make(chan int)),
		rapid.Just[any](json.RawMessage("{")), rapid.Just[any](json.RawMessage(`[1]`)), rapid.Just[any](byPointer{}), rapid.Just[any](&byPointer{}),
		rapid.Just[any](holder{}), rapid.Just[any](time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)), rapid.Just[any](time.Time{}),
	)
	value = rapid.OneOf(leaf, rapid.Deferred(func() *rapid.Generator[any] {
		return rapid.OneOf(
			rapid.SliceOfN(value, 0, 3).AsAny(),
			rapid.MapOfN(rapid.String(), value, 0, 3).AsAny(),
			rapid.Custom(func(t *rapid.T) *any { v := value.Draw(t, "v"); return &v }).AsAny(),
		)
	}))
	rapid.Check(t, func(t *rapid.T) {
		v := value.Draw(t, "value")
		_, err := json.Marshal(v)
		if (encodes(v) == nil) != (err == nil) {
			t.Fatalf("encodes says %v, Marshal says %v", encodes(v), err)
		}
	})
}
