#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
# on_core.sh PROGRAM ARGUMENT...: a worker on the core of its number, modulo the cores; for launchers that would give the
# same core to all (several simulated hosts on one machine) or refuse (more workers than cores).
exec taskset -c "$((${OMPI_COMM_WORLD_RANK:-0} % $(nproc)))" "$@"
