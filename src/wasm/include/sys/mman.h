/* Nothing can be mapped or advised: code that only advises leaves it. */
