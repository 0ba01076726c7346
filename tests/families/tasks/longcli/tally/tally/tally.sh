#!/bin/bash
wc -l < "$1" | tr -d ' '
