package script_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// draw draws scripts and requests. Scripts are combined pieces of Lua: those that
// locks write, common mistakes, and everything that could remain in an
// interpreter.
type draw struct {
	rng     *rand.Rand
	scripts []string // of this round, so that they occur again
}

func (d *draw) of(list ...string) string { return list[d.rng.IntN(len(list))] }

func (d *draw) chance(n int) bool { return d.rng.IntN(n) == 0 }

// script is often a former one.
func (d *draw) script() string {
	if len(d.scripts) > 12 {
		return d.of(d.scripts...)
	}
	var b strings.Builder
	for range d.rng.IntN(4) {
		b.WriteString(d.statement(2) + "\n")
	}
	if !d.chance(8) {
		b.WriteString("return " + d.value(2))
	}
	s := b.String()
	if d.chance(30) {
		s = d.of("syntax error here", "return (", "x = = 1", s+" end")
	}
	d.scripts = append(d.scripts, s)
	return s
}

func (d *draw) key() string { return d.of("k1", "k2", "k3") }

// command is a command with its arguments, as Lua or as a request has them.
func (d *draw) command() []string {
	n := strconv.Itoa(d.rng.IntN(90) - 10)
	all := [][]string{
		{"SET", d.key(), n}, {"SET", d.key(), n, "NX", "PX", "1000"}, {"set", d.key(), n, "KEEPTTL"}, {"SET", d.key(), n, "XX"},
		{"GET", d.key()}, {"GETSET", d.key(), n}, {"GETDEL", d.key()}, {"GETEX", d.key(), "PX", "700"}, {"APPEND", d.key(), n},
		{"INCR", d.key()}, {"INCRBY", d.key(), n}, {"DECR", d.key()}, {"INCRBYFLOAT", d.key(), "1.5"}, {"STRLEN", d.key()},
		{"DEL", d.key()}, {"DEL", d.key(), d.key()}, {"UNLINK", d.key()}, {"EXISTS", d.key(), d.key()}, {"TYPE", d.key()},
		{"EXPIRE", d.key(), "1"}, {"PEXPIRE", d.key(), n}, {"PEXPIRE", d.key(), "500", "NX"}, {"PERSIST", d.key()}, {"TTL", d.key()}, {"PTTL", d.key()},
		{"PEXPIREAT", d.key(), "946684800300"}, {"EXPIREAT", d.key(), "946684801"}, {"SETEX", d.key(), "1", n}, {"PSETEX", d.key(), "300", n}, {"SETNX", d.key(), n},
		{"HSET", d.key(), "f", n, "g", "2"}, {"HSETNX", d.key(), "f", n}, {"HINCRBY", d.key(), "f", n}, {"HINCRBY", d.key(), "g", "-1"}, {"HMSET", d.key(), "h", n},
		{"HGET", d.key(), "f"}, {"HMGET", d.key(), "f", "nope"}, {"HGETALL", d.key()}, {"HEXISTS", d.key(), "f"}, {"HDEL", d.key(), "f"}, {"HLEN", d.key()}, {"HKEYS", d.key()},
		{"HPEXPIRE", d.key(), "400", "FIELDS", "1", "f"}, {"HINCRBYFLOAT", d.key(), "f", "0.25"},
		{"LPUSH", d.key(), n, "b"}, {"RPUSH", d.key(), n}, {"LPOP", d.key()}, {"LRANGE", d.key(), "0", "-1"}, {"LREM", d.key(), "0", n}, {"LTRIM", d.key(), "0", "1"}, {"LINSERT", d.key(), "BEFORE", "b", n},
		{"SADD", d.key(), n, "x"}, {"SREM", d.key(), "x"}, {"SMEMBERS", d.key()}, {"SISMEMBER", d.key(), "x"},
		{"ZADD", d.key(), n, "m"}, {"ZADD", d.key(), "GT", n, "m"}, {"ZREM", d.key(), "m"}, {"ZRANGE", d.key(), "0", "-1", "WITHSCORES"}, {"ZSCORE", d.key(), "m"}, {"ZPOPMIN", d.key()}, {"ZINCRBY", d.key(), n, "m"}, {"ZREMRANGEBYSCORE", d.key(), "-inf", n},
		{"RENAME", d.key(), d.key()}, {"RPOPLPUSH", d.key(), d.key()}, {"SMOVE", d.key(), d.key(), "x"}, {"MSET", d.key(), n, d.key(), "2"}, {"COPY", d.key(), d.key()},
		{"KEYS", "*"}, {"SCAN", "0"}, {"DBSIZE"}, {"TIME"}, {"PING"}, {"ECHO", n}, {"PUBLISH", "channel", n}, {"INFO", "nosuch"},
		{"FLUSHALL"}, {"SELECT", d.of("0", "3")}, {"HELLO", d.of("2", "3")}, {"CLIENT", "SETNAME", "n"}, {"CLIENT", "GETNAME"}, {"AUTH", "x"},
		{"nosuch", n}, {"GET"}, {"SET", d.key()}, {"HSET", d.key(), "f"}, {"OBJECT", "IDLETIME", d.key()},
	}
	return all[d.rng.IntN(len(all))]
}

// call is a command that a script executes.
func (d *draw) call() string {
	args := d.command()
	switch {
	case d.chance(12):
		args = [][]string{{}, {"MULTI"}, {"EXEC"}, {"DISCARD"}, {"WATCH", "k1"}, {"UNWATCH"}, {"EVAL", "return 1", "0"}, {"EVALSHA", "abc", "0"}, {"SCRIPT", "FLUSH"}, {"SUBSCRIBE", "c"}, {"SWAPDB", "0", "3"}, {"QUIT"}}[d.rng.IntN(12)]
	case d.chance(10):
		return "redis.call(" + d.of("{}", "nil", "true", "'SET', KEYS[1], 1e15", "'SET', KEYS[1], 0.1", "'SET', KEYS[1], 3", "'SET', KEYS[1], 2^53", "'GET', false", "unpack(KEYS)") + ")"
	}
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = strconv.Quote(a)
		if strings.HasPrefix(a, "k") && len(a) == 2 && !d.chance(3) {
			words[i] = "KEYS[1]"
		}
	}
	return d.of("redis.call", "redis.call", "redis.pcall", "server.call") + "(" + strings.Join(words, ", ") + ")"
}

// value is an expression.
func (d *draw) value(depth int) string {
	if depth > 0 && d.chance(3) {
		a, b := d.value(depth-1), d.value(depth-1)
		return d.of(
			"{"+a+", "+b+"}", "{err = "+a+"}", "{ok = "+a+"}", a+" == "+b, "("+a+") .. ("+b+")", "("+a+") + 1", "#("+a+")", "not ("+a+")",
			"tostring("+a+") == "+b, "tonumber("+a+")", "type("+a+")", "("+a+") or ("+b+")", "cjson.encode({"+a+"})", "cjson.decode("+a+")",
			"select('#', "+a+", "+b+")", "pcall(function() return "+a+" end)", "(function(...) return ... end)("+a+")", "unpack({"+a+", "+b+"})",
			"redis.sha1hex("+a+")", "redis.error_reply("+a+")", "redis.status_reply("+a+")", "rawequal("+a+", "+b+")", "("+a+").f", "next({"+a+"})",
		)
	}
	if d.chance(2) {
		return d.call()
	}
	return d.of("1", "0", "-3", "3.7", "1e3", "'x'", "''", "'%d %s'", "nil", "false", "true", "{}", "{1,2,'x',{3,nil,4},false,true}", "{err='MY no', ok='yes'}",
		"KEYS", "ARGV", "KEYS[1]", "ARGV[1]", "ARGV[2]", "ARGV[9]", "#KEYS + #ARGV", "{KEYS[1], ARGV[1]}", "tonumber(ARGV[1])",
		"redis.error_reply('bad')", "redis.error_reply('-MY bad thing')", "redis.status_reply('fine')", "redis.sha1hex()", "redis.replicate_commands()", "redis.set_repl(1)", "redis.set_repl()",
		"redis.LOG_WARNING", "redis.foo", "string.foo", "math.pi", "table.foo", "cjson.foo", "#redis", "redis == server", "os.clock()", "os.time", "math.floor(3.7)", "math.max(1, 2)",
		"string.format('%5.2f %s %d', 1.234, 'x', 7)", "string.rep('ab', 3)", "('x'):rep(5)", "('').up2", "string.gsub('hello', 'l', 'L')", "string.match('k:12', '%d+')", "string.byte('a')",
		"table.concat({1,2,3}, ',')", "table.concat(KEYS)", "cjson.encode({a=1})", "cjson.decode('{\"a\":[1,2]}').a[2]", "cjson.decode('nope')", "cjson.encode({[1]=1,[3]=2})",
		"tonumber('0x10')", "tonumber('z')", "type(redis.call)", "type(os)", "type(bit)", "_G ~= nil", "type(debug)", "package.loaded.debug ~= nil", "getmetatable('').__index == string",
		"bit", "struct", "cmsgpack", "nope", "loadstring('return 5')()", "setmetatable({}, {__index = function() return 7 end}).a", "coroutine.status(coroutine.create(print))", "rawget(_G, 'y')", "y", "up",
	)
}

// statement is a statement that can stand before any other.
func (d *draw) statement(depth int) string {
	if depth > 0 && d.chance(2) {
		a, v := d.statement(depth-1), d.value(depth-1)
		return d.of(
			"if "+v+" then "+a+" end", "if "+v+" == 1 then "+a+" else "+d.statement(depth-1)+" end", "for i = 1, 3 do "+a+" end", "do local r = "+v+" "+a+" end",
			"do local ok, e = pcall(function() "+a+" end) if not ok then "+d.statement(depth-1)+" end end",
			"for i, k in ipairs({KEYS[1], 'k2'}) do "+a+" end", "for k, v in pairs(ARGV) do "+a+" end", "xpcall(function() "+a+" end, function(m) return 'h' end)",
			"do local t = {} for i = 1, 5 do t[i] = i end table.sort(t, function(x, y) return x > y end) "+a+" end", "(function() "+a+" end)()",
		)
	}
	if !d.chance(5) {
		return d.call()
	}
	return d.of(
		"x = 1", "x = nil", "y = 2", "KEYS[1] = 'k2'", "ARGV[9] = 1", "ARGV[1] = nil", "KEYS = {'k3'}", "redis.foo = 1", "redis.foo = nil", "string.foo = 1", "table.insert(redis, 5)", "table.insert(KEYS, 'z')",
		"redis.call = nil", "redis.call = function() return 7 end", "redis.call = redis.pcall", "server.pcall = 1", "cjson.encode = nil", "math.pi = 3", "table.sort = 1", "os.clock = nil", "string.rep = string.lower",
		"setmetatable(_G, nil)", "rawset(_G, 'y', 1)", "getmetatable('').__index.up2 = 1", "setfenv(1, {}) z = 1", "setfenv(0, {redis = redis})", "setmetatable(redis, {__index = function() return 1 end})", "local s = string s.foo = 2", "local t = {redis} t[1].foo = 3", "local up = 1",
		"error('boom %d')", "error()", "error({err = 'T'})", "error('x', 0)", "assert(false, 'no')", "assert(nil)", "local a = nil; local b = a.b", "local n = 1 + {}", "local function f() return f() + 1 end f()",
		"redis.setresp(3)", "redis.setresp(2)", "redis.setresp(9)", "redis.log(redis.LOG_WARNING, 'x')", "redis.log('x')", "collectgarbage()", "local co = coroutine.wrap(function() coroutine.yield(1) end) co()",
	)
}

// request is a request of a client.
func (d *draw) request(sha func(string) string) []string {
	keys := []string{d.key()}
	if d.chance(4) {
		keys = append(keys, d.key())
	}
	tail := append([]string{fmt.Sprint(len(keys))}, append(keys, fmt.Sprint(d.rng.IntN(3)), "two")...)
	if d.chance(40) {
		tail = [][]string{{}, {"x"}, {"-1"}, {"9", "k1"}, {"0"}, {"+1", "k1"}}[d.rng.IntN(6)]
	}
	src := d.script()
	switch n := d.rng.IntN(100); {
	case n < 34:
		return append([]string{"EVAL", src}, tail...)
	case n < 70:
		return append([]string{d.of("EVALSHA", "evalsha"), sha(src)}, tail...)
	case n < 73:
		return append([]string{"EVALSHA_RO", sha(src)}, tail...)
	case n < 75:
		return append([]string{"EVAL_RO", src}, tail...)
	case n < 79:
		return []string{"SCRIPT", d.of("LOAD", "load"), src}
	case n < 81:
		return []string{"SCRIPT", "EXISTS", sha(src), sha("nope")}
	case n < 82:
		return [][]string{{"SCRIPT", "FLUSH"}, {"SCRIPT", "flush", "ASYNC"}, {"SCRIPT", "FLUSH", "x"}, {"SCRIPT"}, {"SCRIPT", "LOAD"}, {"SCRIPT", "KILL"}}[d.rng.IntN(6)]
	case n < 88:
		return [][]string{{"MULTI"}, {"EXEC"}, {"EXEC"}, {"EXEC", "x"}, {"DISCARD"}, {"MULTI", "x"}, {"WATCH", d.key()}, {"UNWATCH"}, {"EXEC"}}[d.rng.IntN(9)]
	case n < 89 && d.chance(4):
		return [][]string{{"SUBSCRIBE", "c"}, {"UNSUBSCRIBE", "c"}, {"PSUBSCRIBE", "d*"}, {"PUNSUBSCRIBE"}}[d.rng.IntN(4)]
	}
	return d.command()
}
