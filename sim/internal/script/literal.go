package script

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// HasLiteralKeys reports whether each key of a script stands as KEYS[1] in its text, and
// each command as a string. keysOf returns those of the arguments of a command that are
// keys. A text that is no script has no keys.
func HasLiteralKeys(text string, keysOf func(args []string) []string) bool {
	chunk, err := parse.Parse(strings.NewReader(text), "<string>")
	if err != nil {
		return true
	}
	literal := true
	visitCalls(reflect.ValueOf(chunk), func(c *ast.FuncCallExpr) {
		if !callsRedis(c.Func) || len(c.Args) == 0 {
			return
		}
		name, isText := c.Args[0].(*ast.StringExpr)
		if !isText {
			literal = false
			return
		}
		args := []string{name.Value}
		for i := range c.Args[1:] {
			args = append(args, strconv.Itoa(i+1)) // stands for itself
		}
		for _, key := range keysOf(args) {
			i, _ := strconv.Atoi(key)
			literal = literal && isKeysEntry(c.Args[i])
		}
	})
	return literal
}

// visitCalls calls visit for each call of a function in a part of a program.
func visitCalls(v reflect.Value, visit func(*ast.FuncCallExpr)) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return
		}
		if c, isCall := v.Interface().(*ast.FuncCallExpr); isCall && v.Kind() == reflect.Pointer {
			visit(c)
		}
		visitCalls(v.Elem(), visit)
	case reflect.Slice:
		for i := range v.Len() {
			visitCalls(v.Index(i), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				visitCalls(v.Field(i), visit)
			}
		}
	}
}

// callsRedis reports whether an expression is redis.call or redis.pcall.
func callsRedis(e ast.Expr) bool {
	get, isGet := e.(*ast.AttrGetExpr)
	if !isGet {
		return false
	}
	table, isName := get.Object.(*ast.IdentExpr)
	field, isText := get.Key.(*ast.StringExpr)
	return isName && isText && table.Value == "redis" && (field.Value == "call" || field.Value == "pcall")
}

// isKeysEntry reports whether an expression is KEYS with a number.
func isKeysEntry(e ast.Expr) bool {
	get, isGet := e.(*ast.AttrGetExpr)
	if !isGet {
		return false
	}
	table, isName := get.Object.(*ast.IdentExpr)
	_, isNumber := get.Key.(*ast.NumberExpr)
	return isName && isNumber && table.Value == "KEYS"
}
