package scenarios

// NeedWords is the list that a test compares with the schema.
var NeedWords = needWords
