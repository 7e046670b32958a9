package errors

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestScrub(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		// Userinfo of URLs.
		{"dial postgres://app:hunter2@db.internal:5432/orders?sslmode=require: refused", "dial postgres://***@db.internal:5432/orders?sslmode=require: refused"},
		{`Get "https://ghp_0123456789abcdef@github.com/x": EOF`, `Get "https://***@github.com/x": EOF`},
		{"amqp://u:p@ss@h/v", "amqp://***@h/v"},
		{"mongodb://u:p@h1:27017,h2:27017/db", "mongodb://***@h1:27017,h2:27017/db"},
		{"redis://:p/w?x#y@h:6379", "redis://***@h:6379"},
		{"http://a:b@x,http://c:d@y", "http://***@x,http://***@y"},
		{"https://example.com:8080/@user/page", "https://example.com:8080/@user/page"},
		{"https://h1:1,h2:2/@x", "https://h1:1,h2:2/@x"},
		{"http://[::1]:80/@x", "http://[::1]:80/@x"},
		{"see https://example.com/docs for more", "see https://example.com/docs for more"},
		{"mail bob@example.com", "mail bob@example.com"},
		// The MySQL driver's form.
		{"app:p@ss:w0rd/@tcp(10.0.0.1:3306)/orders", "***@tcp(10.0.0.1:3306)/orders"},
		{`dsn "app:pw@unix(/tmp/s)/x"`, `dsn "***@unix(/tmp/s)/x"`},
		{"image:1.2@sha256:abc (latest)", "image:1.2@sha256:abc (latest)"},
		// Settings, query parameters, JSON.
		{"host=db user=app password=hunter2 sslmode=off", "host=db user=app password=*** sslmode=off"},
		{"password='two words' host=db", "password='***' host=db"},
		{`password='it\'s' host=db`, `password='***' host=db`},
		{"Server=db;User Id=app;Pwd={a;b};Encrypt=yes", "Server=db;User Id=app;Pwd={***};Encrypt=yes"},
		{"Server=db;Password=x;Encrypt=yes", "Server=db;Password=***;Encrypt=yes"},
		{"https://api/x?api_key=abc&limit=5", "https://api/x?api_key=***&limit=5"},
		{"https://maps/x?key=abc&q=1", "https://maps/x?key=***&q=1"},
		{"https://s3/x?X-Amz-Signature=abc&X-Amz-Date=1", "https://s3/x?X-Amz-Signature=***&X-Amz-Date=1"},
		{"https://blob/x?sv=1&sig=a%2Fb", "https://blob/x?sv=1&sig=***"},
		{`{"user":"bob","password":"hunter","n":1}`, `{"user":"bob","password":"***","n":1}`},
		{`{\"client_secret\":\"abc\",\"n\":1}`, `{\"client_secret\":\"***\",\"n\":1}`},
		{`{'authentication_token': 'abc', 'url': 'x'}`, `{'authentication_token': '***', 'url': 'x'}`}, // B126
		{"{User:bob Password:hunter Host:x}", "{User:bob Password:*** Host:x}"},
		{"AWS_SECRET_ACCESS_KEY=abc/def+ghi AWS_REGION=x", "AWS_SECRET_ACCESS_KEY=*** AWS_REGION=x"},
		{"token := abc", "token := ***"},
		{"password = abc", "password = ***"},
		{"password= host=db", "password= host=db"},
		{"token: Bearer abc.DEF", "token: ***"},
		{"spring.datasource.password=abc", "spring.datasource.password=***"},
		// Headers.
		{"Authorization: Key abc", "Authorization: ***"}, // B128
		{"authorization: bearer abcdefg", "authorization: ***"},
		{"map[Authorization:[Basic dXNlcjpwdw==] Accept:[*/*]]", "map[Authorization:[***] Accept:[*/*]]"},
		{`{"Cookie":"session=abc; id=7","Accept":"x"}`, `{"Cookie":"***","Accept":"x"}`},
		{"X-Api-Key: 4f9a", "X-Api-Key: ***"},
		{"GET /\nCookie: a=b; c=d\nAccept: x", "GET /\nCookie: ***\nAccept: x"},
		// Schemes and tokens.
		{"sent Bearer abc.DEF-123~x= and got 401", "sent Bearer *** and got 401"},
		{"sent basic dXNlcjpwYXNz", "sent basic ***"},
		{"got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln today", "got *** today"},
		{"key sk-proj-0123456789abcdef is revoked", "key *** is revoked"},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----"},
		{"-----BEGIN PRIVATE KEY-----\nMIIE", "-----BEGIN PRIVATE KEY-----***"},
		// Prose stays.
		{"the bearer token expired", "the bearer token expired"},
		{"Basic authentication is off", "Basic authentication is off"},
		{"invalid token: unexpected end of input", "invalid token: unexpected end of input"},
		{"password: required", "password: required"},
		{"authorization: user lacks the scope", "authorization: user lacks the scope"},
		{"Key (id)=(5) already exists", "Key (id)=(5) already exists"},
		{"page_token=abc is not a cursor of ours", "page_token=abc is not a cursor of ours"},
		{"sort key=date code=7", "sort key=date code=7"},
		{"validating root: validating /properties/n: type: a has type \"string\"", "validating root: validating /properties/n: type: a has type \"string\""},
		{"", ""},
	} {
		require.Equal(t, test.want, scrub(test.in))
	}
}

func TestCleanBounds(t *testing.T) {
	// A credential that the bound cuts in two is not shown in part.
	text := strings.Repeat("x ", 90) + "postgres://app:" + strings.Repeat("s3cret", 100) + "@db"
	require.NotContains(t, clean(text, 100), "s3cret")
	require.NotContains(t, clean(text, 300), "s3cret")
	require.Equal(t, "ab… (cut)", clean("abc", 2))
	require.Equal(t, "a… (cut)", clean("aäb", 2))
	require.Equal(t, "aa… (cut)", clean(strings.Repeat("a", 10), 2))
	// A text without blanks is cut and not dropped, on a rune, and the mask of a
	// credential at the cut stays whole.
	require.Equal(t, strings.Repeat("ä", 50)+"… (cut)", clean(strings.Repeat("ä", 5000), 101))
	require.Equal(t, strings.Repeat("x", 90)+"&token=***… (cut)", clean(strings.Repeat("x", 90)+"&token="+strings.Repeat("s3cret", 100), 100))
	require.Equal(t, "***… (cut)", clean("eyJ"+strings.Repeat("s3cret", 100), 100))
	require.NotContains(t, clean(strings.Repeat("x", 90)+strings.Repeat("-----BEGIN PRIVATE KEY-----s3cret", 100), 100), "s3cret")
	// What masking shortens makes no room for the end of the window.
	require.NotContains(t, clean("eyJ"+strings.Repeat("x", 120)+" y://app:"+strings.Repeat("s3cret", 100)+"@db", 100), "s3cret")
	for _, blob := range []string{strings.Repeat("A", 1<<20), strings.Repeat(`{"a":1},`, 1<<17), strings.Repeat("ü", 1<<19)} {
		require.GreaterOrEqual(t, len(clean(blob, maxText)), maxText)
		require.GreaterOrEqual(t, len(clean(blob, maxLogged)), maxText, "the log holds at least as much")
	}
}

// Texts that a search which starts over at every match never gets through: a
// test that is not linear here does not end.
func TestScrubIsLinear(t *testing.T) {
	for _, unit := range []string{"a://", "://@", "@", "a@a(", "password=", "password:", "token\"", "Bearer ", "\\\"", "eyJ", "PRIVATE KEY-----", "a:", "=", "{", "[", "'", "cookie:", "cookie: x ", "@//", "a:b@c(", "a:b@/", "invalid port \":", "?key=", "password=a&", "password=a;", ";pwd=a ", "[password]", "token: [", "token:[\"", "--token ", "<token>", "password '", "\"password\",\"value\":", "basic ", "Basic a:", "authorization: a=\"", "\\\\\\\"token\\\\\\\":", "hooks.slack.com/services/", "a://b:c ", "a://b:c\"", "a://b:c@d/e@", ":\\/\\/a:b", "ya29.", "pwd={a}}", "a://b:c@d?e@", "Authorization:x ", "\"token\":[[", "token: x, ", "token is ", "token:(", "b key:", "cookie: x y ", "token:", "tokens:'", "signature=a", "tokens:[", "-----BEGIN ", "Cookie: a=b ", "password= ", "password='"} {
		scrub(strings.Repeat(unit, 1<<18/len(unit)))
	}
}

func FuzzScrub(f *testing.F) {
	for _, s := range []string{
		"postgres://app:hunter2@db/x", "a:b@tcp(h)/d", `{"password":"x"}`, `\"token\":\"`, "Bearer abc1", "Cookie: a\n", "token={", "x?sig=", "-----BEGIN PRIVATE KEY-----", "a://b://c@d", "eyJ", "password='\\", "\xff\x00",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := clean(s, 1<<10)
		if !utf8.ValidString(out) {
			t.Errorf("%q became invalid UTF-8: %q", s, out)
		}
		if len(out) > 1<<10+len("… (cut)") {
			t.Errorf("%d bytes became %d", len(s), len(out))
		}
	})
}

// FuzzScrubPlanted surrounds a secret with arbitrary text in every form that
// scrub knows.
func FuzzScrubPlanted(f *testing.F) {
	const secret = "Zq7wX9vK3m"
	forms := []string{
		" postgres://app:" + secret + "@db ",
		" postgres://" + secret + "@db/x ",
		" app:" + secret + "@tcp(db:1)/x ",
		" password=" + secret + " ",
		" password='" + secret + "' ",
		` {"client_secret":"` + secret + `"} `,
		" https://x/y?access_token=" + secret + "&z=1 ",
		"\nAuthorization: Key " + secret + "\n",
		" Bearer " + secret + " ",
		" ghp_0123456789" + secret + " ",
		` {"X-Api-Key":["` + secret + `"]} `,
		" app:" + secret + "@/x ",
		"\nDB_PASS=" + secret + "\n",
		"\nmap[Authorization:[" + secret + "]]\n",
	}
	f.Add("", "")
	f.Add("connecting to ", ": refused")
	f.Add(`"`, `"`)
	f.Add("://", "@x")
	f.Add("password=", "")
	f.Add("\\", "(")
	f.Fuzz(func(t *testing.T, before, after string) {
		if strings.Contains(before+after, secret) {
			return // the input brings the secret itself, outside of every form
		}
		for _, form := range forms {
			in := before + form + after
			if out := scrub(in); strings.Contains(out, secret) {
				t.Errorf("%q became %q", in, out)
			}
		}
	})
}
