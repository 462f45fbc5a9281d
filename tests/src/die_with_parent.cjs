// Node loads this file before Azurite. Standard input is a pipe from the test program. The end of the pipe means that the
// program has ended in some way, so the server ends too.
process.stdin.on("close", () => process.exit(0));
process.stdin.resume();
