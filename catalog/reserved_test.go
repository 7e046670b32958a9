package catalog

import "testing"

func TestReservedHeader(t *testing.T) {
	for _, name := range []string{"Authorization", "X-Apikey", "X-API-Key", "X_API_KEY", "api-key", "Ocp-Apim-Subscription-Key", "X-RapidAPI-Key", "X-Auth", "X-Auth-Key", "X-Session-Id", "X-Remote-User", "X-User", "True-Client-IP", "X-Client-IP", "CF-Connecting-IP", "X-Real-IP", "Accept-Encoding", "Accept", "X-Amz-Security-Token", "Private-Key", "X-Password", "X-Authorization", "Set-Cookie", "Cookie2", "X-HTTP-Method", "X-Envoy-Original-Path", "Http2-Settings", "Alt-Used", "Host", "X-Host", "X-Forwarded-For", "Forwarded", "Proxy-Authorization", "Sec-Fetch-Site", "X-Original-URL", "X-Rewrite-URL", "X-CSRF-Token", "Origin", "User-Agent", "X-Impersonate", "Transfer-Encoding", "Content-Type", "Via"} {
		if !Reserved(InHeader, name) {
			t.Errorf("%s is not reserved", name)
		}
	}
	for _, name := range []string{"X-Trace", "X-Keyword", "Idempotency-Key", "X-Idempotency-Key", "Accept-Language", "If-Match", "X-Author", "X-Monkey", "X-Tenant", "X-Zip", "Prefer", "X-Mode"} {
		if Reserved(InHeader, name) {
			t.Errorf("%s is reserved", name)
		}
	}
}

func TestReservedQuery(t *testing.T) {
	for name, want := range map[string]bool{"api_key": true, "apiKey": true, "access_token": true, "client-secret": true, "password": true, "page_token": false, "key": false, "token": false, "q": false, "author": false} {
		if Reserved(InQuery, name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
