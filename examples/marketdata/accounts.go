package main

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// An account is somebody who may use the server. The token opens this server,
// the key opens the API. They are two, because a token that was issued for one
// server must not be handed on to another.
type account struct {
	user, token, key string
}

// accounts would be an authorization server's matter, and a vault's.
var accounts = []account{
	{"demo", "token-demo", "key-demo"},
	{"ada", "token-ada", "key-ada"},
	{"bela", "token-bela", "key-bela"},
}

// verify finds out whose token it is. It is an [auth.TokenVerifier].
func verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	for _, a := range accounts {
		if a.token == token {
			return &auth.TokenInfo{UserID: a.user, Expiration: time.Now().Add(time.Hour)}, nil
		}
	}
	return nil, auth.ErrInvalidToken
}

// keyOf returns a user's key, or "" if there is no such user.
func keyOf(user string) string {
	for _, a := range accounts {
		if a.user == user {
			return a.key
		}
	}
	return ""
}

// keyVariable holds the key for stdio, where the client starts the server and
// gives it an environment.
const keyVariable = "MARKETDATA_KEY"

func keyOfThisProcess() string { return cmp.Or(os.Getenv(keyVariable), keyOf("demo")) }
