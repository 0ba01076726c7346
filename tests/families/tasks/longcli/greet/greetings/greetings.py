def greet(name, language="en"):
    return f"Hello, {name}!"
