// Package profile describes servers as they are offered. Each is a file NAME.yaml with its
// sources: what the server refuses, and what it has besides the commands of Redis 7.
package profile

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/holdfast-go/holdfast/internal/english"
)

// Default is the server of a run that names none: Redis 7 with all rights.
const Default = "redis-7"

//go:embed *.yaml
var files embed.FS

// order are the names of all profiles. A lock that needs a command is played on the first
// one that has it.
var order = []string{
	Default, "redis-7-acl", "redis-6.2", "redis-8.2", "redis-8.4", "valkey-8.1", "valkey-9.1",
	"dragonfly", "garnet", "elasticache-serverless", "proxy-without-wait", "aliyun-cluster",
}

// newer are the commands, and the option of one, that Redis 7.0 lacks. A profile has those
// that it lists.
var newer = []string{"DELEX", "DELIFEQ", SetIfEqual, "WAITAOF"}

// SetIfEqual stands for the option IFEQ of SET.
const SetIfEqual = "SET IFEQ"

// Profile is one server as it is offered.
type Profile struct {
	Name    string   `yaml:"-"`
	Summary string   `yaml:"summary"`
	Sources []string `yaml:"sources"`
	// Evidence is "documentation", or the version of the binary that gave these errors.
	Evidence string `yaml:"evidence"`

	// Has lists commands that Redis 7.0 lacks, and Lacks those of Redis 7.0 that this
	// server does not know.
	Has   []string `yaml:"has"`
	Lacks []string `yaml:"lacks"`
	// Unknown is the error for a command that the server does not know. {command} stands
	// for its name as the client wrote it, and {args} for its arguments.
	Unknown string `yaml:"unknown"`
	// Quote has one argument of {args}, with {arg} for its text.
	Quote string `yaml:"quote"`

	Refuses []Refusal `yaml:"refuses"`

	// Undeclared is the error for a key that a script uses without having declared it,
	// with {key} for the key. Without it scripts may use any key.
	Undeclared string `yaml:"undeclared"`
	// Literal is the error for a script that names a key in another way than KEYS[1].
	Literal string `yaml:"literal"`

	// Alone: the live world starts no replicas and no cluster of it, which need the option
	// bind-source-addr of Redis 7.0.
	Alone bool `yaml:"alone"`
	// Cluster: it is offered as a cluster only.
	Cluster bool `yaml:"cluster"`
	// Sharded: PUBLISH acts as SPUBLISH, and SUBSCRIBE as SSUBSCRIBE.
	Sharded bool `yaml:"sharded"`
}

// Refusal is an error for commands that the server has and does not execute.
type Refusal struct {
	Commands []string `yaml:"commands"`
	// With are options with which alone the commands are refused, With none always. All
	// of the options of one entry, separated by spaces, must be there.
	With  []string `yaml:"with"`
	Error string   `yaml:"error"` // with {command} for the command in lower case
	// Script is the error in a script, Error by default.
	Script string `yaml:"script"`
}

var all = readAll()

func readAll() []*Profile {
	var list []*Profile
	for _, name := range order {
		text, err := files.ReadFile(name + ".yaml")
		if err != nil {
			panic("profile: " + err.Error()) // embedded: the tests would show it
		}
		p := &Profile{Name: name}
		if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(p); err != nil {
			panic("profile: " + name + ".yaml: " + err.Error())
		}
		list = append(list, p)
	}
	return list
}

// All returns every profile, the default first.
func All() []*Profile { return all }

// Names are the names of all profiles.
func Names() []string { return slices.Clone(order) }

// UnknownError says that there is no profile of a name.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string { return fmt.Sprintf("unknown server %q", e.Name) }

// Hint lists the names.
func (e *UnknownError) Hint() string { return "the servers are " + english.And(Names()) }

// Find returns the profile of a name, or an [*UnknownError].
func Find(name string) (*Profile, error) {
	i := slices.Index(order, name)
	if i < 0 {
		return nil, &UnknownError{name}
	}
	return all[i], nil
}

// With returns the first profile that has all of the commands.
func With(commands []string) *Profile {
	i := slices.IndexFunc(all, func(p *Profile) bool { return p.Missing(commands) == "" })
	return all[max(i, 0)]
}

// Missing is the first of the commands that the server does not know, or "".
func (p *Profile) Missing(commands []string) string {
	i := slices.IndexFunc(commands, func(c string) bool { return !p.HasCommand(c) })
	if i < 0 {
		return ""
	}
	return commands[i]
}

// HasCommand reports whether the server has a command of Redis, by its name in upper case.
func (p *Profile) HasCommand(command string) bool {
	if slices.Contains(newer, command) {
		return slices.Contains(p.Has, command)
	}
	return !slices.Contains(p.Lacks, command)
}

// Refusal is the error of the server for a request, or "". The request begins with the
// command as the client wrote it.
func (p *Profile) Refusal(request []string, inScript bool) string {
	cmd, args := strings.ToUpper(request[0]), request[1:]
	if !p.HasCommand(cmd) {
		var quoted strings.Builder
		for _, a := range args[:min(len(args), 20)] {
			quoted.WriteString(strings.ReplaceAll(p.Quote, "{arg}", a))
		}
		return strings.NewReplacer("{command}", request[0], "{args}", quoted.String()).Replace(p.Unknown)
	}
	for _, r := range p.Refuses {
		if !slices.Contains(r.Commands, cmd) || len(r.With) > 0 && !slices.ContainsFunc(r.With, func(o string) bool { return hasAll(args, o) }) {
			continue
		}
		text := r.Error
		if inScript && r.Script != "" {
			text = r.Script
		}
		return strings.ReplaceAll(text, "{command}", strings.ToLower(cmd))
	}
	return ""
}

// hasAll reports whether arguments have all of the options in a text. A key and a value
// are no options.
func hasAll(args []string, options string) bool {
	for o := range strings.FieldsSeq(options) {
		if !slices.ContainsFunc(args[min(len(args), 2):], func(a string) bool { return strings.EqualFold(a, o) }) {
			return false
		}
	}
	return true
}
