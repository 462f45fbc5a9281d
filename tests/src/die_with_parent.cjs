// Loaded before Azurite. Its standard input is a pipe from the test program: the pipe's end means that the program is
// gone, however it went, and that the server must not outlive it.
process.stdin.on("close", () => process.exit(0));
process.stdin.resume();
