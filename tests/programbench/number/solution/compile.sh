#!/bin/sh
set -e
cc -O2 -o executable number.c
