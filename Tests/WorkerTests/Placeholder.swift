enum WorkerTestsPlaceholder {}
