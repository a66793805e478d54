enum SimulatorTestsPlaceholder {}
