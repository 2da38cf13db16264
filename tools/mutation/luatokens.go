package main

import "strings"

// luaToken is a word, a number, a text or a sign of a script.
type luaToken struct {
	text     string
	pos, end int // in the script
}

// signs of more than one byte, the longest first.
var luaSigns = []string{"...", "..", "==", "~=", "<=", ">="}

// luaTokens splits a script into tokens, without comments and blanks. An invalid
// script gives meaningless tokens.
func luaTokens(text string) []luaToken {
	var all []luaToken
	for at := 0; at < len(text); {
		from := at
		switch c := text[at]; {
		case strings.ContainsRune(" \t\r\n", rune(c)):
			at++
			continue
		case strings.HasPrefix(text[at:], "--[["):
			at = after(text, at, "]]")
			continue
		case strings.HasPrefix(text[at:], "--"):
			at = after(text, at, "\n")
			continue
		case strings.HasPrefix(text[at:], "[["):
			at = after(text, at, "]]")
		case c == '\'' || c == '"':
			for at++; at < len(text) && text[at] != c; at++ {
				if text[at] == '\\' {
					at++
				}
			}
			at = min(at+1, len(text))
		case isWord(c):
			for at < len(text) && (isWord(text[at]) || isDigit(c) && text[at] == '.') {
				at++
			}
		default:
			at++
			for _, sign := range luaSigns {
				if strings.HasPrefix(text[from:], sign) {
					at = from + len(sign)
					break
				}
			}
		}
		all = append(all, luaToken{text[from:at], from, at})
	}
	return all
}

// after is the byte after the next end, or after the text.
func after(text string, at int, end string) int {
	if i := strings.Index(text[at:], end); i >= 0 {
		return at + i + len(end)
	}
	return len(text)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
}
