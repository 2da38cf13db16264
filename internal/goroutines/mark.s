// The file lets the compiler accept a function whose body is in the runtime.
