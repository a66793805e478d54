enum WorkerPlaceholder {}
