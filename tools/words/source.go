package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// source is the prose of a Go file: comments, and for users the help texts and the
// strings of errors and hints. It leaves out indented lines. A test file has comments
// alone. The error means that the file does not parse.
func source(name string, src []byte) ([]prose, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	all := comments(set, file)
	if strings.HasSuffix(name, "_test.go") {
		return all, nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		for _, e := range expressions(n) {
			s, ok := literal(e)
			if !ok {
				continue
			}
			line := set.Position(e.Pos()).Line
			for _, part := range strings.Split(strings.ReplaceAll(s, "\nhint:", "\n\n"), "\n\n") {
				all = append(all, prose{line, flat(part)})
				line += strings.Count(part, "\n") + 2
			}
		}
		return true
	})
	return all, nil
}

// span matches the parts of a comment that come from elsewhere: code and quotations.
var span = regexp.MustCompile("`[^`]*`|\"[^\"]*\"|\\[[\\w.*]+\\]")

// comments is the prose of the comments: their paragraphs and the items of their lists. A
// quotation, and a link to an identifier, counts as one word.
func comments(set *token.FileSet, file *ast.File) []prose {
	var all []prose
	for _, group := range file.Comments {
		line, open := set.Position(group.Pos()).Line, prose{}
		flush := func() {
			if open.words != "" {
				all = append(all, prose{open.line, span.ReplaceAllString(open.words, "X")})
			}
			open = prose{}
		}
		if strings.HasPrefix(group.Text(), "Output:") {
			continue
		}
		for _, c := range group.List {
			for i, l := range strings.Split(c.Text, "\n") {
				switch l = strings.TrimPrefix(strings.TrimPrefix(l, "//"), " "); {
				case strings.HasPrefix(c.Text, "//go:") || strings.HasPrefix(c.Text, "/*"):
				case l == "" || strings.HasPrefix(l, "#") || strings.HasPrefix(l, "KEYS[") || strings.HasPrefix(l, "ARGV[") || strings.HasPrefix(l, "\t") || strings.HasPrefix(l, "   "):
					flush()
				case item.MatchString(l):
					flush()
					open = prose{line + i, item.ReplaceAllString(l, "")}
				default:
					if open.words == "" {
						open.line = line + i
					}
					open.words += " " + l
				}
			}
			line = set.Position(c.End()).Line + 1
		}
		flush()
	}
	return all
}

// flat removes indented lines.
func flat(part string) string {
	lines := slices.DeleteFunc(strings.Split(part, "\n"), func(l string) bool { return strings.HasPrefix(l, " ") })
	return strings.Join(lines, " ")
}

// expressions are the expressions of a node that contain text for users.
func expressions(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && slices.Contains([]string{"Short", "Long", "Hint"}, key.Name) {
			return []ast.Expr{n.Value}
		}
	case *ast.CallExpr:
		switch f := n.Fun.(type) {
		case *ast.Ident:
			if slices.Contains([]string{"usage", "badInput", "badOut", "defect"}, f.Name) {
				return n.Args
			}
		case *ast.SelectorExpr:
			if x, ok := f.X.(*ast.Ident); ok && (x.Name == "errors" && f.Sel.Name == "New" || x.Name == "fmt" && f.Sel.Name == "Errorf") {
				return n.Args[:1]
			}
			if x, ok := f.X.(*ast.CallExpr); ok && len(n.Args) > 2 { // c.Flags().StringVar(...)
				if flags, ok := x.Fun.(*ast.SelectorExpr); ok && flags.Sel.Name == "Flags" {
					return n.Args[len(n.Args)-1:]
				}
			}
		}
	}
	return nil
}

// literal is the text of a string, or of several that are joined. A part that
// is not constant counts as one word.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		left, l := literal(e.X)
		right, r := literal(e.Y)
		if !l {
			left = "X"
		}
		if !r {
			right = "X"
		}
		return left + right, l || r
	}
	return "", false
}
