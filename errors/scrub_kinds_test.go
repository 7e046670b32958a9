package errors

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pw stands in every form that a credential is met in. No form may let it
// through, wherever in a text it stands.
const pw = "s3cr3tpw"

var leaks = []string{
	// The MySQL driver's DSN, and its like without a scheme.
	"app:" + pw + "@/orders", "app:" + pw + "@unix(/tmp/s)/x", "app:" + pw + "@tcp(db:3306)/x?parseTime=true", "app:" + pw + "@custom(db)/x", "dsn=app:" + pw + "@/", "app:" + pw + "@db.internal:3306/orders",
	"scott/" + pw + "@//db:1521/x", "jdbc:oracle:thin:scott/" + pw + "@db:1521:X",
	// Lists of a JSON or a Go header.
	`{"X-Api-Key":["` + pw + `"]}`, `{"password":["` + pw + `"]}`, `{"password": [ "a", "` + pw + `" ]}`, `{\"password\":[\"` + pw + `\"]}`,
	fmt.Sprintf("%v", http.Header{"X-Api-Key": {pw}, "Accept": {"x"}}), fmt.Sprintf("%#v", http.Header{"X-Api-Key": {pw}}),
	fmt.Sprintf("%v", http.Header{"Authorization": {"Digest username=\"a\", response=\"" + pw + `"`}}), fmt.Sprintf("%#v", http.Header{"Authorization": {"Custom " + pw}}),
	fmt.Sprintf("%v", map[string]string{"Authorization": "Bearer " + pw}), fmt.Sprintf("%v", map[string]string{"Cookie": "a=b; c=d; e=" + pw}), fmt.Sprintf("%#v", map[string]any{"password": pw}), fmt.Sprintf("%#v", map[string]any{"password": []any{pw}}),
	fmt.Sprintf("%+v", struct{ Password, Host string }{pw, "x"}), fmt.Sprintf("%#v", struct{ Password string }{pw}), fmt.Sprintf("%+v", struct{ DBPass []string }{[]string{pw, "b"}}), fmt.Sprintf("%v", map[string]any{"api_key": []string{"a", pw}}),
	// Arrows, indexes, other syntaxes.
	`"password" => "` + pw + `"`, `password => ` + pw, `:password=>"` + pw + `"`, `'password' => '` + pw + `',`, `config["password"] = "` + pw + `"`, `user[password]=` + pw + `&x=1`, `user%5Bpassword%5D=` + pw,
	"password: " + pw, "password:\t" + pw, "--password " + pw, "--db-password=" + pw, "curl -u app:" + pw + " https://x", `curl --user "app:` + pw + `"`, "<password>" + pw + "</password>", "ALTER USER a WITH PASSWORD '" + pw + "'", "CREATE USER a IDENTIFIED BY '" + pw + "'",
	`{"name":"DB_PASSWORD","value":"` + pw + `"}`, "- name: DB_PASSWORD\n  value: " + pw, `{"name": "Authorization", "value": "Custom ` + pw + `"}`, "{Name:DB_PASSWORD Value:" + pw + "}",
	`{\\\"password\\\":\\\"` + pw + `\\\"}`, `{\\\\\\\"password\\\\\\\":\\\\\\\"` + pw + `\\\\\\\"}`, `{\"a\":\"{\\\"token\\\":\\\"` + pw + `\\\"}\"}`, `x?a=1\u0026api_key=` + pw + `\u0026b=2`, "x?a=1&amp;key=" + pw,
	// URLs.
	"postgres://app:p@ss/" + pw + "@db:5432/x", "postgres://app:" + pw + "/w0rd@db:5432/x", "https://app:p@ss/" + pw + "@db:5432/x", "https://app:" + pw + "@git/@scope/x", "redis://:" + pw + "@h:6379/0", "rediss://default:" + pw + "#x@h:6379", "redis://:123/" + pw + "@h:6379",
	"amqp://u:" + pw + "@h/v", "amqps://u:a?" + pw + "@h/v", "mongodb://u:" + pw + "@h1:27017,h2:27017/db", "mongodb+srv://u:" + pw + "@c.x.net/?appName=@u@", "jdbc:mysql://u:" + pw + "@h/db", "jdbc:postgresql://h/db?user=u&password=" + pw,
	`https:\/\/u:` + pw + `@h\/x`, `parse "postgres://app:p ` + pw + `@db/x": invalid userinfo`, "postgres://app:a\"" + pw + "@db/x ", `invalid port ":` + pw + `" after host`,
	"https://hooks.slack.com/services/T0/B0/" + pw, "https://api.telegram.org/bot1234:" + pw + "/getMe", "https://discord.com/api/webhooks/123/" + pw,
	// Headers and schemes.
	`Authorization: Digest username="a", realm="b", response="` + pw + `"`, `curl -H "Authorization: Custom ` + pw + `" x`, `-H 'Authorization: Digest a="b", c="` + pw + `"'`, "HTTP_AUTHORIZATION=Custom" + pw, "authorization: custom " + pw, "X-Forwarded-Authorization: Key " + pw, "Proxy-Authorization: Negotiate " + pw,
	`authorization="Bearer ` + pw + `" path=/`, "Bearer%20" + pw, "Basic app:" + pw, `{"Authorization":"Digest username=\"a\", response=\"` + pw + `\""}`, `{\"Cookie\":\"a=b; c=` + pw + `\"}`, "bearer: " + pw, "Set-Cookie: id=" + pw + "; HttpOnly",
	// Names.
	"DB_PASS=" + pw, "dbPass: " + pw, "pass=" + pw, `{"pass":"` + pw + `"}`, "pwd=" + pw, "PWD=" + pw + ";Database=x", "AccountKey=" + pw + "==;EndpointSuffix=x", "SharedAccessKey=" + pw, "SharedAccessSignature=" + pw, "PGPASSWORD=" + pw + " psql", "password1=" + pw, "secrets: [" + pw + "]", `{"apiKeys":["` + pw + `"]}`, `{"SecretString":"` + pw + `"}`, "passwordHash=" + pw, "signing_key=" + pw, "requirepass=" + pw,
	"the password is " + pw + ".", "API key: " + pw, "access key = " + pw, "{'password': b'" + pw + "'}", `Password: (string) (len=8) "` + pw + `"`, "//registry/:_auth=" + pw,
	// ODBC, ADO, JDBC, libpq.
	"Driver={ODBC Driver 18};Server=db;Uid=a;Pwd={a}}b" + pw + "};", "Server=db;User Id=a;Password=two " + pw + ";Encrypt=yes", "Server=db;Password='a;" + pw + "';", `Server=db;Password="a;` + pw + `"`, "jdbc:sqlserver://db:1433;user=a;password=" + pw + ";encrypt=true", "host=db password=a&" + pw + " user=x", "host=db password=a;" + pw + " user=x", "host=db password = '" + pw + "'", `host=db password='it\'s ` + pw + `'`, "Endpoint=sb://x/;SharedAccessKeyName=n;SharedAccessKey=" + pw,
	// Tokens that say what they are.
	"ya29.a0AfH6SMBx" + pw, "SG.abcdefghijklmnopqrst." + pw, "hvs.CAESIJ0123456789" + pw, "sk-proj-0123456789ab" + pw, "github_pat_11ABCDEFG_" + pw,
}

// wholesome is text that names credentials, or looks like them, and holds none.
var wholesome = []string{
	// The SDK's and this module's words about parameters.
	`validating root: validating /properties/reset_token: 5 has type "integer", want "string"`, `validating /properties/api_key: minLength: "ab" contains 2 Unicode code points, fewer than 8`, `validating root: required: missing properties: ["api_key" "password"]`, `unexpected additional properties ["token"]`,
	`argument "token" cannot be 5. Next: pass a text`, "password: must be at least 8 characters", "password: Must contain a digit", `{"password":["can't be blank","is too short"]}`, `{"password":"is required"}`, `{"errors":{"token":"invalid"}}`,
	// Pages, parsers, language models.
	`{"nextToken":"abc123def456"}`, "next_token=abc123", "NextToken: abc123def", "syncToken=abc123", "nextSyncToken=a1b2", "max_tokens=4096", `{"max_tokens": 4096}`, "page_token=abc1", "nextPageToken=a1", "nextpagetoken=a1", "continuation_token=a1b2", "ContinuationToken: a1b2c3d4e5", "pagination_token=a1", "progressToken: 17abc", `{"total_tokens":12345,"prompt_tokens":1}`, `"eos_token":"</s>"`, `{"tokens":["SELECT","FROM"]}`, `{"tokens":[1,2,30000]}`,
	"unexpected token: FROM", "syntax error near token: SELECT", "token: ')'", "Unexpected token < in JSON at position 0", "unexpected token: identifier_x1", "expected token: ';', got token: abc123def", "invalid token: 42", "token: 17",
	// Values that are none.
	`{"password":null}`, `{"password": null, "a":1}`, `{"has_secret":true}`, `{"secret":false,"token":12345}`, "password=null", "has_password: true", "Access denied for user 'app'@'localhost' (using password: YES)", "using password: NO", `{"token":{"type":"string","description":"the token"}}`, "{Password: }", `password=""`, `{"password":""}`, "password=%s", "token=${TOKEN}", "Authorization: Bearer <token>", "password=<your password>", "password=***", `{"password":"***"}`,
	"the password is wrong", "the token is expired", "access key: not set", "API key: required", "unknown flag: --password", "flag needs an argument: --token", "--token is required", "cookie: disabled in this browser", "Authorization: Denied by policy", "jwt: malformed", "pass: 12 fail: 3", "map[token:<nil>]",
	// Words that look alike.
	"Basic HTTP/2 support", "Basic Authentication required", "a Basic license12 is enough", "signature: func(int)", "signature: func Map2(f func(int) string)", `{"signature":"func(a int32) error"}`, "a:b@c(d)", "image:1.2@sha256:abc (latest)", "sip:bob@example.com:5060", "mailto:bob@example.com", "git@github.com:x/y.git", "10:30@office", "npm:react@18", "bypass=on8", "compass: n0rth", "--- PASS: TestX2 (0.00s)", "PASS: TestLogin2", "PWD=/srv/app2", "pwd: /home/u5er", "ASIA_PACIFIC_NORTHEAST", "sk-fading-circle-large", "npm_config_cache_directory",
	`WWW-Authenticate: Bearer realm="https://as/x1", error="invalid_token"`, "Bearer Token required", "the bearer token expired", "GET /reset_password: 404 Not Found", "access_token: 401 Unauthorized", "authorization: user 42 lacks the scope", "docker run -u 1000:1000 x", "usage: login <user> <password>", "http://host:port/path", "https://example.com:8080/@user/page", "https://h/x?email=bob@example.com", "http://localhost:8080/x@y", "secret_name=prod", "token_type=bearer9", "https://proxy.golang.org/m/@v/v1.2.3.info", "mongodb://h1:27017/?appName=x", "primary_key=id77", "the key: 42 and the code: 7",
}

func TestNothingLeaks(t *testing.T) {
	for _, leak := range leaks {
		for _, around := range []string{"%s", "dial: %s: refused", "x\n%s\ny", "(%s)", "{a %s}"} {
			in := strings.Replace(around, "%s", leak, 1)
			out := scrub(in)
			require.NotContains(t, out, pw, in)
			require.Contains(t, out, mask, in)
			require.NotContains(t, clean(in, 4<<10), pw, in)
		}
	}
}

func TestLegitimateTextStays(t *testing.T) {
	for _, text := range wholesome {
		require.Equal(t, text, scrub(text))
		require.Equal(t, "x\n"+text+"\ny", scrub("x\n"+text+"\ny"))
	}
}

// What is around a credential stays readable, and JSON stays JSON.
func TestOnlyTheCredentialGoes(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"app:" + pw + "@/orders", "***@/orders"},
		{`{"X-Api-Key":["` + pw + `"],"n":1}`, `{"X-Api-Key":["***"],"n":1}`},
		{"map[Authorization:[x1y2] Accept:[y]] tail", "map[Authorization:[***] Accept:[y]] tail"},
		{"map[Authorization:Bearer x1y2z Accept:y] tail", "map[Authorization:*** Accept:y] tail"},
		{`http.Header{"X-Api-Key":[]string{"x1"}, "A":[]string{"b"}}`, `http.Header{"X-Api-Key":[]string{"***"}, "A":[]string{"b"}}`},
		{`{"password" => "x1", "b" => 2}`, `{"password" => "***", "b" => 2}`},
		{`{\\\"password\\\":\\\"x\\\",\\\"n\\\":1}`, `{\\\"password\\\":\\\"***\\\",\\\"n\\\":1}`},
		{"(password=abc1) failed", "(password=***) failed"},
		{"{User:bob Password:abc1}", "{User:bob Password:***}"},
		{"postgres://app:p@ss/w0rd@db:5432/x", "postgres://***@db:5432/x"},
		{"https://u:p@github.com/@scope/pkg@1.2", "https://***@github.com/@scope/pkg@1.2"},
		{`{"credentials":{"user":"a","password":"x1"}}`, `{"credentials":{"user":"a","password":"***"}}`},
		{"Server=db;Password=two words;Encrypt=yes", "Server=db;Password=***;Encrypt=yes"},
		{"password=abc1&user=bob", "password=***&user=bob"},
		{`curl -H "Authorization: Custom a1b2" https://x`, `curl -H "Authorization: ***" https://x`},
	} {
		require.Equal(t, test.want, scrub(test.in))
		require.Equal(t, test.want, scrub(scrub(test.in)))
	}
}

func TestScrubJSON(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{`{"password":"x1","n":1}`, `{"password":"***","n":1}`},
		{`{ "a" : [ {"api_key":["x1","y2"]}, "b" ] }`, `{ "a" : [ {"api_key":["***","***"]}, "b" ] }`},
		{`{"password":"x1","password":null,"token":12,"has_secret":true}`, `{"password":"***","password":null,"token":12,"has_secret":true}`},
		{`{"Authorization":"Custom x"}`, `{"Authorization":"***"}`},
		{`{"p\u0061ssword":"x1"}`, `{"p\u0061ssword":"***"}`},
		{`{"url":"postgres://a:` + pw + `@db","m":"{\"password\":\"` + pw + `\"}"}`, `{"url":"postgres://***@db","m":"{\"password\":\"***\"}"}`},
		{`{"password":[1,"x",["y"],{"a":"b"}],"c":"d"}`, `{"password":[1,"***",["***"],{"a":"b"}],"c":"d"}`},
		{`"password=x1"`, `"password=***"`},
		{`{"postgres://a:b@c":1}`, `{"postgres://***@c":1}`},
		{`{"nextToken":"a1b2c3","errors":{"password":["is too short"]},"token":{"type":"string"},"big":12345678901234567890}`, ""},
		{`[]`, ""}, {`null`, ""}, {`"\ud800"`, ""}, {`{"a":"\\\"","b":"]}"}`, ""},
	} {
		if test.want == "" {
			test.want = test.in
		}
		out, changed := scrubJSON([]byte(test.in))
		require.Equal(t, test.want, string(out))
		require.Equal(t, test.in != test.want, changed)
		require.True(t, json.Valid(out))
	}
}

func FuzzScrubJSON(f *testing.F) {
	f.Add([]byte(`{"password":["x",{"token":"y"}]}`))
	f.Add([]byte(`[[],{}, "\\\"", {"a":{"secret":"\ud800"}}]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return // scrubJSON is given valid JSON only
		}
		out, _ := scrubJSON(raw)
		if !json.Valid(out) {
			t.Errorf("%q became %q", raw, out)
		}
	})
}

// What net/url says about a password that it does not understand.
func TestParseErrorsOfURLs(t *testing.T) {
	for _, raw := range []string{"postgres://app:" + pw + "#x@db:5432/x", "postgres://app:" + pw + " x@db/x", "postgres://app:" + pw + "/x@db", "redis://:" + pw + "%zz@h"} {
		_, err := url.Parse(raw)
		require.Error(t, err, raw)
		require.NotContains(t, scrub(err.Error()), pw, err.Error())
	}
}
