#!/bin/bash
set -e
cp ledger.py executable
chmod +x executable
