#!/bin/sh
# Starts a PostgreSQL server of its own in a temporary folder, prints its URL on
# standard output once it answers, and stops and removes it when standard input
# ends. Whoever starts this holds the other end of that pipe: the kernel closes it
# however its holder ends, so no server outlives a killed test.
#
# Debian's package is installed if there is no server and root asks. It needs
# initdb, postgres and pg_isready. The server listens on a Unix socket in its
# folder and on nothing else.
set -eu

say() { echo "server.sh: $*" >&2; }

find_bin() {
	for dir in $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -rV); do
		if [ -x "$dir/initdb" ] && [ -x "$dir/postgres" ] && [ -x "$dir/pg_isready" ]; then
			echo "$dir"
			return
		fi
	done
	if command -v initdb >/dev/null && command -v postgres >/dev/null && command -v pg_isready >/dev/null; then
		dirname "$(command -v postgres)"
	fi
}

install_package() {
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		say "there is no PostgreSQL server. Install one (Debian: apt-get install postgresql)," \
			"or set STEADY_POSTGRES to the URL of a running one"
		exit 1
	fi
	# Several tests may get here at once; the second finds the work done.
	exec 9>"${TMPDIR:-/tmp}/steady-install-postgresql.lock"
	flock 9
	if [ -z "$(find_bin)" ]; then
		say "installing Debian's package postgresql"
		export DEBIAN_FRONTEND=noninteractive
		apt-get -q update >&2
		# Without this the package starts a server for the whole machine.
		mkdir -p /etc/postgresql-common
		echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
		apt-get -q install -y --no-install-recommends -o Dpkg::Options::=--force-confold \
			-o DPkg::Lock::Timeout=300 postgresql >&2
	fi
	exec 9>&-
}

bin=$(find_bin)
if [ -z "$bin" ]; then
	install_package
	bin=$(find_bin)
	[ -n "$bin" ] || { say "the package postgresql has no server in /usr/lib/postgresql"; exit 1; }
fi

dir=$(mktemp -d "${TMPDIR:-/tmp}/steady-pg.XXXXXX")
pid=
stop() {
	trap - EXIT
	if [ -n "$pid" ]; then
		kill -INT "$pid" 2>/dev/null || true # a fast shutdown: it ends what is connected
		wait "$pid" || true
	fi
	rm -rf "$dir"
}
trap stop EXIT
trap 'exit 1' INT TERM HUP

as= # the server refuses to run as root
if [ "$(id -u)" = 0 ]; then
	as="setpriv --reuid=postgres --regid=postgres --clear-groups --"
	chown postgres: "$dir"
fi
cd "$dir"

# No locale of the machine, and no sync of what is thrown away anyway.
$as "$bin/initdb" -D "$dir/data" --username=postgres --auth=trust --locale=C --encoding=UTF8 --no-sync >"$dir/initdb.log" 2>&1 </dev/null || {
	cat "$dir/initdb.log" >&2
	say "initdb failed"
	exit 1
}
$as "$bin/postgres" -D "$dir/data" -k "$dir" -c listen_addresses= -c max_connections=300 \
	>"$dir/log" 2>&1 </dev/null &
pid=$!

tries=0
until $as "$bin/pg_isready" -q -h "$dir" -U postgres -d postgres; do
	tries=$((tries + 1))
	if [ "$tries" -gt 600 ] || ! kill -0 "$pid" 2>/dev/null; then
		cat "$dir/log" >&2
		say "the server did not start"
		exit 1
	fi
	sleep 0.05
done
echo "postgres://postgres@/postgres?host=$dir"
exec >&-
cat >/dev/null
