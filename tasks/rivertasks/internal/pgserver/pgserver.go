// Package pgserver gives tests a PostgreSQL database of their own.
package pgserver

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// variable is the environment variable with the URL of the server to use. Its
// user must be allowed to create databases.
const variable = "STEADY_POSTGRES"

//go:embed server.sh
var script string

// DSN returns the URL of a new, empty database, which is dropped when tb ends.
//
// The server is the one that STEADY_POSTGRES names; else the one that the usual
// variables (PGHOST, PGUSER, ...) or their defaults lead to, if it answers; else
// one that this process starts for all its tests and that ends with it, for which
// Debian's package is installed if need be. If all that fails, so does tb: a
// test that needs a database is never skipped.
//
// For a test, a commit does not wait for the disk. For a benchmark it does, as
// in production.
func DSN(tb testing.TB) string {
	tb.Helper()
	server, err := find()
	if err != nil {
		tb.Fatalf("pgserver: %v", err)
	}
	name := "steady_test_" + strings.ToLower(rand.Text())
	statements := []string{"CREATE DATABASE " + name}
	if _, durable := tb.(*testing.B); !durable {
		statements = append(statements, "ALTER DATABASE "+name+" SET synchronous_commit = off")
	}
	if err := execute(context.Background(), server, statements...); err != nil {
		tb.Fatalf("pgserver: %v", err)
	}
	tb.Cleanup(func() {
		if err := execute(context.Background(), server, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			tb.Errorf("pgserver: %v", err)
		}
	})
	database := *server
	database.Path = "/" + name
	return database.String()
}

// find returns the URL of the server, which it looks for or starts once.
var find = sync.OnceValues(func() (*url.URL, error) {
	if dsn := os.Getenv(variable); dsn != "" {
		server, err := url.Parse(dsn)
		if err != nil || server.Scheme != "postgres" && server.Scheme != "postgresql" {
			return nil, fmt.Errorf("%s must be a URL such as postgres://user@host:5432/postgres", variable)
		}
		if err := execute(context.Background(), server, "SELECT 1"); err != nil {
			return nil, fmt.Errorf("the server of %s does not answer: %w", variable, err)
		}
		return server, nil
	}
	if server := running(); server != nil {
		return server, nil
	}
	line, err := start()
	if err != nil {
		return nil, err
	}
	return url.Parse(line)
})

// running returns the URL of the server that a client finds without being told,
// or nil if there is none or it lets us create no databases.
func running() *url.URL {
	config, err := pgx.ParseConfig("dbname=postgres")
	if err != nil {
		return nil
	}
	server := &url.URL{Scheme: "postgres", User: url.User(config.User), Path: "/postgres"}
	if config.Password != "" {
		server.User = url.UserPassword(config.User, config.Password)
	}
	server.RawQuery = url.Values{"host": {config.Host}, "port": {strconv.Itoa(int(config.Port))}}.Encode()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, server.String())
	if err != nil {
		return nil
	}
	defer conn.Close(ctx)
	var may bool
	err = conn.QueryRow(ctx, "SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user").Scan(&may)
	if err != nil || !may {
		return nil
	}
	return server
}

// start starts a server that ends with this process, and returns its URL.
func start() (string, error) {
	// Installing the package takes a minute or two, the rest a second or two.
	const patience = 8 * time.Minute
	cmd := exec.Command("sh", "-c", script, "server.sh")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return "", err
	}
	late := time.AfterFunc(patience, func() { stdin.Close(); cmd.Process.Kill() })
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	if late.Stop() && line != "" {
		go cmd.Wait() // it also keeps stdin open, for as long as this process lives
		return strings.TrimSpace(line), nil
	}
	err = cmd.Wait()
	return "", fmt.Errorf("no PostgreSQL server answers and none could be started (%v): %s", err, strings.TrimSpace(stderr.String()))
}

func execute(ctx context.Context, server *url.URL, statements ...string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, server.String())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}
