package catalog

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRateLimit(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		header map[string]string
		want   string
	}{
		{nil, `null`},
		{map[string]string{"Content-Type": "x"}, `null`},
		{map[string]string{"RateLimit": `"default";r=50;t=30`, "RateLimit-Policy": `"default";q=100;w=60`}, `{"limit":100,"remaining":50,"reset":30}`},
		{map[string]string{"RateLimit": "limit=100, remaining=50, reset=5"}, `{"limit":100,"remaining":50,"reset":5}`},
		{map[string]string{"RateLimit-Limit": "100, 100;w=60", "RateLimit-Remaining": "0", "RateLimit-Reset": "12"}, `{"limit":100,"remaining":0,"reset":12}`},
		{map[string]string{"X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "59", "X-RateLimit-Reset": "1796040030"}, `{"limit":60,"remaining":59,"reset":30}`},
		{map[string]string{"X-Rate-Limit-Reset": "1796040030000"}, `{"limit":null,"remaining":null,"reset":31}`},
		{map[string]string{"X-RateLimit-Reset": "17.5"}, `{"limit":null,"remaining":null,"reset":17}`},
		{map[string]string{"X-RateLimit-Reset": "1700000000"}, `{"limit":null,"remaining":null,"reset":0}`},
		{map[string]string{"Retry-After": "120"}, `{"limit":null,"remaining":null,"reset":120}`},
		{map[string]string{"Retry-After": "Mon, 30 Nov 2026 12:01:00 GMT"}, `{"limit":null,"remaining":null,"reset":60}`},
		{map[string]string{"Retry-After": "Mon, 30 Nov 2020 12:01:00 GMT"}, `null`},
		{map[string]string{"X-RateLimit-Limit": "-1", "X-RateLimit-Remaining": "many", "RateLimit": ";;,=,r=", "Retry-After": "soon"}, `null`},
		{map[string]string{"X-RateLimit-Limit": "99999999999999999999"}, `null`},
		{map[string]string{"RateLimit": `"day";r=900;t=3600, "burst";r=0;t=1`, "RateLimit-Policy": `"day";q=1000;w=86400, "burst";q=10;w=1`}, `{"limit":10,"remaining":0,"reset":1}`},
		{map[string]string{"RateLimit": `"burst";r=3, "day";r=2`, "RateLimit-Policy": `"burst";q=10`}, `{"limit":10,"remaining":2,"reset":null}`},
		{map[string]string{"X-RateLimit-Reset": "9223372036854775807"}, `null`},
		{map[string]string{"RateLimit": "limit=5, remaining=1, reset=99999999999"}, `{"limit":5,"remaining":1,"reset":null}`},
	} {
		h := http.Header{}
		for k, v := range c.header {
			h.Set(k, v)
		}
		b, err := json.Marshal(readRateLimit(h, now))
		require.NoError(t, err)
		require.Equal(t, c.want, string(b), "%v", c.header)
	}
	require.Equal(t, 24*time.Hour, retryAfter(http.Header{"Retry-After": {"999999999"}}, now), "bounded")
}

func FuzzRateLimit(f *testing.F) {
	for _, s := range []string{`"default";r=50;t=30`, "limit=100, remaining=50", "1796040030", "Mon, 30 Nov 2026 12:01:00 GMT", ";=,", "-5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h := http.Header{"Ratelimit": {s}, "X-Ratelimit-Reset": {s}, "Retry-After": {s}, "Ratelimit-Limit": {s}}
		r := readRateLimit(h, time.Unix(1796040000, 0))
		if r == nil {
			return
		}
		for _, n := range []*int64{r.Limit, r.Remaining, r.Reset} {
			if n != nil && *n < 0 {
				t.Fatalf("%q: %d", s, *n)
			}
		}
	})
}
